// SPDX-License-Identifier: Apache-2.0
#include "helper/topo_view.h"

#include "lib/base/environment.h"
#include "lib/topo/load_machine.h"

#include <algorithm>

extern char** environ;

namespace distinit {

namespace {

constexpr int kMostGpus = 4096;

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

}  // namespace

Result<TopoView> view_machine(const std::optional<std::string>& file, int tasks) {
  if (file && file->empty()) {
    return Error{ErrorCode::kUsage, "--xml is empty", "name a file, or leave it out", 0};
  }
  const std::string xml = file.value_or("");
  TopoView view;
  std::vector<Finding> found;
  if (xml.empty()) {
    DISTINIT_ASSIGN_OR_RETURN(Discovery discovery, discover_machine(SystemRoots{}));
    view.machine = std::move(discovery.machine);
    found = std::move(discovery.findings);
  } else {
    DISTINIT_ASSIGN_OR_RETURN(view.machine, load_machine_file(xml));
  }
  TaskGrant grant = grant_of(view.machine, !xml.empty());
  const int each_gpu = std::clamp(static_cast<int>(view.machine.gpus.size()), 1, kMostGpus);
  const int count = tasks > 0 ? tasks : each_gpu;
  for (int i = 0; i < count; ++i) {
    grant.local_rank = i;
    view.input.tasks.push_back(grant);
  }
  view.plan = plan_node(view.machine, view.input);
  view.plan.findings.insert(view.plan.findings.begin(), found.begin(), found.end());
  return view;
}

}  // namespace distinit
