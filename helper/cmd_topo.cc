// SPDX-License-Identifier: Apache-2.0
// `distinit topo`: GPUs, HCAs and CPUs of a machine, and what N tasks would be bound to.

#include "helper/command.h"
#include "helper/command_line.h"
#include "helper/topo_view.h"
#include "lib/base/exit_status.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"

#include <optional>
#include <string>

#include <unistd.h>

#include <CLI/CLI.hpp>

namespace distinit {

namespace {

constexpr int kMostTasks = 4096;

struct Arguments {
  std::optional<std::string> xml;
  int tasks = 0;  ///< 0: one for each GPU
  bool json = false;
};

Status show(const Arguments& arguments) {
  DISTINIT_ASSIGN_OR_RETURN(const TopoView view, view_machine(arguments.xml, arguments.tasks));
  return write_all(STDOUT_FILENO,
                   arguments.json ? format_topo_json(view) : format_topo_text(view, true));
}

int run_topo(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("GPUs, HCAs and CPUs of this machine, and what its tasks would be bound to.",
               "distinit topo");
  app.add_option("--xml", arguments.xml,
                 "another machine: an hwloc XML export (lstopo FILE.xml) or an NCCL topology XML")
      ->type_name("FILE");
  app.add_option("--tasks", arguments.tasks, "tasks on the node; default: one for each GPU")
      ->type_name("N")
      ->check(CLI::Range(1, kMostTasks));
  app.add_flag("--json", arguments.json, "print JSON");
  if (const auto status = parse_command_line(app, argc, argv)) {
    return *status;
  }
  const Status shown = show(arguments);
  if (!shown) {
    Log().error(shown.error());
    return exit_status(shown.error().code);
  }
  return kExitOk;
}

const CommandRegistration registration{
    {"topo", "GPUs, HCAs and CPUs of a machine, and what tasks are bound to", run_topo}};

}  // namespace

}  // namespace distinit
