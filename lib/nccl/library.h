// SPDX-License-Identifier: Apache-2.0
#pragma once
// The user's NCCL or RCCL, found as the program would find it. Loads it into this process, for
// good: never in a process that will exec (its sockets are not close-on-exec).

#include "lib/base/environment.h"
#include "lib/base/result.h"
#include "lib/nccl/api.h"

#include <string>
#include <string_view>
#include <vector>

namespace distinit {

/// "2.28.9".
std::string format_nccl_version(int version);

/// A loaded library. Copies are cheap and equal.
struct NcclLibrary {
  NcclApi api;
  int version = 0;
  std::string path;      ///< the file, as the loader names it
  bool is_rccl = false;  ///< needs HIP instead of CUDA

  bool can_config() const { return api.comm_init_rank_config != nullptr; }
  bool can_split() const { return can_config() && api.comm_split != nullptr; }
  bool can_scale() const { return api.comm_init_rank_scalable != nullptr; }
};

/// "CALL failed: unhandled system error (2): socketStartConnect …": NCCL's own words on `code`.
std::string nccl_call_failed(const NcclApi& api, std::string_view call, int code, NcclComm comm);

/// What is handed to dlopen, in order: DISTINIT_NCCL_LIBRARY alone where it is set; else
/// libnccl.so.2 as LD_LIBRARY_PATH has it, the one that the Python environment of VIRTUAL_ENV or
/// CONDA_PREFIX bundles (nvidia/nccl/lib of the wheel), libnccl.so.2 and librccl.so.1 by the
/// loader's own search.
std::vector<std::string> nccl_candidates(const Environment& environment);

/// Loads the first candidate there is. kCommunicator errors name each that was tried, or the
/// function that the library lacks.
Result<NcclLibrary> open_nccl(const Environment& environment);

}  // namespace distinit
