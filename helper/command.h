// SPDX-License-Identifier: Apache-2.0
#pragma once
// One file per subcommand; each registers itself here, and main picks by name.

#include <string_view>
#include <vector>

namespace distinit {

/// A subcommand of `distinit`.
struct Command {
  std::string_view name;
  std::string_view summary;  ///< one line for `distinit --help`; empty hides it
  /// argv[0] is the subcommand's name. Returns the exit status; prints its own errors, once.
  int (*run)(int argc, char** argv);
};

/// Makes the command known before main runs.
class CommandRegistration {
 public:
  explicit CommandRegistration(const Command& command);
};

/// All commands, ordered by name.
const std::vector<Command>& commands();

}  // namespace distinit
