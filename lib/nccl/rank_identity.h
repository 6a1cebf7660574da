// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who a process is in its step, as the environment says that distinit has given it: the whole
// contract between the program's side and our other processes, besides the store.

#include "lib/base/environment.h"
#include "lib/spec/mesh.h"

#include <string>

namespace distinit {

struct RankIdentity {
  int rank = 0;
  int local_rank = 0;
  std::string node;
  std::string step;        ///< "JOB.STEP.RESTART": no key of one attempt of a job is another's
  std::string store_host;  ///< numeric, without brackets
  int store_port = 0;
  Mesh mesh;
  Options options;
  std::string gpu_pci;  ///< empty where it is not known
  std::string hcas;

  /// "rank 3 on n2".
  std::string who() const;
};

/// From DISTINIT_SPEC, DISTINIT_STEP, DISTINIT_STORE, DISTINIT_NODE, RANK, WORLD_SIZE and
/// LOCAL_RANK. kUsage errors name the variable that is missing or wrong.
Result<RankIdentity> read_rank_identity(const Environment& environment);

}  // namespace distinit
