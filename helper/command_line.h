// SPDX-License-Identifier: Apache-2.0
#pragma once
// A subcommand's arguments by CLI11, with its complaints told our way: one line, a hint, status 2.

#include <optional>

namespace CLI {
class App;
}

namespace distinit {

/// Reads argv into what `app` is bound to; `app` must have its full name ("distinit plan").
/// nullopt: go on. A value: end with this exit status, everything (help, or one error with its
/// hint and the nearest option) has been printed.
std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv);

}  // namespace distinit
