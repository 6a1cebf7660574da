// SPDX-License-Identifier: Apache-2.0
// `distinit topo`: GPUs, HCAs and CPUs of a machine, and what N tasks would be bound to.

#include "helper/command.h"
#include "helper/command_line.h"
#include "helper/topo_view.h"
#include "lib/base/environment.h"
#include "lib/base/exit_status.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/topo/load_machine.h"

#include <algorithm>

#include <unistd.h>

#include <CLI/CLI.hpp>

extern char** environ;

namespace distinit {

namespace {

constexpr int kMostTasks = 4096;

struct Arguments {
  std::string xml;
  int tasks = 0;  ///< 0: one for each GPU
  bool json = false;
};

/// A file is another machine: its CPUs, and none of this shell's variables.
TaskGrant grant_of(const Machine& machine, bool is_file) {
  TaskGrant grant;
  if (is_file) {
    grant.cpus = machine.cpus;
    return grant;
  }
  const Environment environment(environ);
  const auto take = [&environment](std::string_view name, std::string& value) {
    value = environment.get_or(name, "");
    return environment.has(name);
  };
  grant.has_cuda = take("CUDA_VISIBLE_DEVICES", grant.cuda);
  grant.has_rocr = take("ROCR_VISIBLE_DEVICES", grant.rocr);
  grant.has_hip = take("HIP_VISIBLE_DEVICES", grant.hip);
  grant.has_ze = take("ZE_AFFINITY_MASK", grant.ze);
  grant.step_gpus = environment.get_or("SLURM_STEP_GPUS", "");
  grant.cpus = process_cpus(0).value_or(machine.cpus);
  return grant;
}

Result<TopoView> make_view(const Arguments& arguments) {
  TopoView view;
  std::vector<Finding> found;
  if (arguments.xml.empty()) {
    DISTINIT_ASSIGN_OR_RETURN(Discovery discovery, discover_machine(SystemRoots{}));
    view.machine = std::move(discovery.machine);
    found = std::move(discovery.findings);
  } else {
    DISTINIT_ASSIGN_OR_RETURN(view.machine, load_machine_file(arguments.xml));
  }
  TaskGrant grant = grant_of(view.machine, !arguments.xml.empty());
  const int each_gpu = std::clamp(static_cast<int>(view.machine.gpus.size()), 1, kMostTasks);
  const int tasks = arguments.tasks > 0 ? arguments.tasks : each_gpu;
  for (int i = 0; i < tasks; ++i) {
    grant.local_rank = i;
    view.input.tasks.push_back(grant);
  }
  view.plan = plan_node(view.machine, view.input);
  view.plan.findings.insert(view.plan.findings.begin(), found.begin(), found.end());
  return view;
}

Status show(const Arguments& arguments) {
  DISTINIT_ASSIGN_OR_RETURN(const TopoView view, make_view(arguments));
  return write_all(STDOUT_FILENO, arguments.json ? format_topo_json(view) : format_topo_text(view));
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
