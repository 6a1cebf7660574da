// SPDX-License-Identifier: Apache-2.0
#include "helper/command_line.h"

#include "lib/base/exit_status.h"
#include "lib/base/log.h"
#include "lib/base/nearest.h"
#include "lib/base/text.h"

#include <ctype.h>

#include <CLI/CLI.hpp>

namespace distinit {

namespace {

Error usage_error(const CLI::App& app, std::string what) {
  return Error{ErrorCode::kUsage, std::move(what), concat("see `", app.get_name(), " --help`"), 0};
}

Error unexpected_argument(const CLI::App& app, const std::string& argument) {
  const bool is_option = argument.starts_with("-");
  Error error = usage_error(app, concat(is_option ? "unknown option '" : "unexpected argument '",
                                        abbreviate(argument), "'"));
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_lnames().empty()) {
      names.push_back(concat("--", option->get_lnames().front()));
    }
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  if (const auto near = nearest(argument.substr(0, argument.find('=')), known);
      is_option && !near.empty()) {
    error.hint = concat("did you mean '", near, "'?");
  }
  return error;
}

/// CLI11's sentences begin with a capital and name the argument.
Error from_parse_error(const CLI::App& app, const CLI::ParseError& failure) {
  std::string what = failure.what();
  if (what.size() > 1 && isupper(what[0]) && islower(what[1])) {
    what[0] = static_cast<char>(tolower(what[0]));
  }
  return usage_error(app, abbreviate(what, 200));
}

}  // namespace

std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv) {
  // Collected instead of refused by CLI11, so that the nearest option can be named.
  app.allow_extras();
  Error error;
  try {
    app.parse(argc, argv);
    const std::vector<std::string> extras = app.remaining();
    if (extras.empty()) {
      return std::nullopt;
    }
    error = unexpected_argument(app, extras.front());
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& failure) {
    // A misspelt option is often why a required one is missing.
    const std::vector<std::string> extras = app.remaining();
    error =
        extras.empty() ? from_parse_error(app, failure) : unexpected_argument(app, extras.front());
  }
  Log().error(error);
  return exit_status(error.code);
}

}  // namespace distinit
