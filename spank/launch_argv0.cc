// SPDX-License-Identifier: Apache-2.0
#include "spank/launch.h"

#include <string.h>

namespace distinit {

const bool kLaunchesMultiProg = false;

Result<std::string> put_stage_in_front(SpankHost& host, const std::string& stage_path) {
  // In the task's process this is the array that slurmstepd execs, except under --multi-prog.
  char** argv = host.job_argv();
  char* replacement = argv == nullptr ? nullptr : strdup(stage_path.c_str());
  if (replacement == nullptr) {
    return Error{ErrorCode::kInternal, "Slurm does not give the task's argv",
                 "is this plugin built for this Slurm? rebuild it", 0};
  }
  // The old text stays allocated: the process execs next.
  const std::string program = argv[0];
  argv[0] = replacement;
  return program;
}

}  // namespace distinit
