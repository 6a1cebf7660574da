// SPDX-License-Identifier: Apache-2.0
// `distinit`: finds the subcommand and hands over.

#include "helper/command.h"
#include "lib/base/exit_status.h"
#include "lib/base/log.h"
#include "lib/base/nearest.h"
#include "lib/base/text.h"

#include <algorithm>

#include <stdio.h>

namespace distinit {

namespace {

std::vector<Command>& registered() {
  static std::vector<Command> all;
  return all;
}

void print_help() {
  fputs(
      "usage: distinit COMMAND [ARGUMENT…]\n\n"
      "Starts distributed training jobs on a Slurm cluster: srun --distinit=tp2,dp2 "
      "./train\n\ncommands:\n",
      stdout);
  for (const Command& command : commands()) {
    if (!command.summary.empty()) {
      printf("  %-8.*s %.*s\n", static_cast<int>(command.name.size()), command.name.data(),
             static_cast<int>(command.summary.size()), command.summary.data());
    }
  }
  fputs(
      "\n`distinit COMMAND --help` has each command's options; distinit(1) and distinit(7) the "
      "rest.\n",
      stdout);
}

int run(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  if (name == "--help" || name == "-h" || name == "help") {
    print_help();
    return kExitOk;
  }
  if (name == "--version") {
    puts("distinit " DISTINIT_VERSION);
    return kExitOk;
  }
  std::vector<std::string_view> known;
  for (const Command& command : commands()) {
    if (command.name == name) {
      return command.run(argc - 1, argv + 1);
    }
    if (!command.summary.empty()) {
      known.push_back(command.name);
    }
  }
  Error error{ErrorCode::kUsage, concat("unknown command '", abbreviate(name), "'"),
              "see `distinit --help`", 0};
  if (name.empty()) {
    error.what = "no command given";
  } else if (const std::string_view near = nearest(name, known); !near.empty()) {
    error.hint = concat("did you mean '", near, "'?");
  }
  Log().error(error);
  return exit_status(error.code);
}

}  // namespace

CommandRegistration::CommandRegistration(const Command& command) {
  auto& all = registered();
  all.insert(
      std::find_if(all.begin(), all.end(), [&](const Command& c) { return c.name > command.name; }),
      command);
}

const std::vector<Command>& commands() {
  return registered();
}

}  // namespace distinit

int main(int argc, char** argv) {
  return distinit::run(argc, argv);
}
