// SPDX-License-Identifier: Apache-2.0
#include "lib/slurm/job_cpus.h"

#include "lib/slurm/counts.h"
#include "lib/slurm/hostlist.h"

#include <algorithm>

namespace distinit {

std::optional<int> job_cpus_on_node(const Environment& environment) {
  const auto node = environment.get("SLURMD_NODENAME");
  const auto list = environment.get("SLURM_JOB_NODELIST");
  const auto counts_text = environment.get("SLURM_JOB_CPUS_PER_NODE");
  if (!node || !list || !counts_text) {
    return std::nullopt;
  }
  const auto nodes = expand_hostlist(*list);
  const auto counts = expand_counts(*counts_text);
  if (!nodes || !counts || nodes->size() != counts->size()) {
    return std::nullopt;
  }
  const auto found = std::find(nodes->begin(), nodes->end(), *node);
  if (found == nodes->end()) {
    return std::nullopt;
  }
  return (*counts)[static_cast<size_t>(found - nodes->begin())];
}

}  // namespace distinit
