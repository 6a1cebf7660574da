// SPDX-License-Identifier: Apache-2.0
#include "spank/launch.h"

#include "lib/base/text.h"

// Declared here as Slurm 23.11's spank.h has it, so that this file also compiles, and is tested,
// against an older one. It returns an enum, and 0 for success.
extern "C" int spank_prepend_task_argv(spank_handle* spank, int argc, const char* argv[]);

namespace distinit {

const bool kLaunchesMultiProg = true;

Result<std::string> put_stage_in_front(SpankHost& host, const std::string& stage_path) {
  const char* words[] = {stage_path.c_str()};
  const int status = spank_prepend_task_argv(host.handle(), 1, words);
  if (status != 0) {
    return Error{
        ErrorCode::kInternal,
        concat("Slurm refuses to put the stage in front of the program (error ", status, ")"),
        "is this plugin built for this Slurm? rebuild it", 0};
  }
  return std::string();
}

}  // namespace distinit
