// SPDX-License-Identifier: Apache-2.0
#pragma once
// The part of NCCL's interface that we call. Written down here because nccl.h needs the CUDA
// headers and differs by version; these values and layouts are the same in all versions from 2.14
// on, and in RCCL (nccl.h.in and src/include of NVIDIA/nccl at v2.14.3-1 … v2.29.7-1).

#include <limits.h>
#include <stddef.h>

namespace distinit {

struct NcclUniqueId {
  char bytes[128];
};

/// ncclComm_t, cudaStream_t and hipStream_t are pointers.
using NcclComm = void*;
using GpuStream = void*;

enum NcclCode : int {
  kNcclSuccess = 0,
  kNcclUnhandledCudaError = 1,
  kNcclSystemError = 2,
  kNcclInternalError = 3,
  kNcclInvalidArgument = 4,
  kNcclInvalidUsage = 5,
  kNcclRemoteError = 6,
  kNcclInProgress = 7,
};

constexpr int kNcclUint64 = 5;  ///< ncclDataType_t
constexpr int kNcclSum = 0;     ///< ncclRedOp_t

constexpr int kNcclUndefined = INT_MIN;
constexpr unsigned kNcclConfigMagic = 0xcafebeef;

/// The head of ncclConfig_t. The library copies `size` bytes and takes its defaults for the rest;
/// `version` decides which fields it looks at (src/init.cc, parseCommConfig).
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = kNcclConfigMagic;
  unsigned version = 21400;
  int blocking = kNcclUndefined;
};

/// The functions of one loaded library; nullptr where it has no such function. The library is never
/// unloaded: its threads may outlive any call.
struct NcclApi {
  int (*get_version)(int* version) = nullptr;
  const char* (*get_error_string)(int code) = nullptr;
  const char* (*get_last_error)(NcclComm comm) = nullptr;
  int (*get_unique_id)(NcclUniqueId* id) = nullptr;
  int (*comm_init_rank)(NcclComm* comm, int ranks, NcclUniqueId id, int rank) = nullptr;
  int (*comm_init_rank_config)(NcclComm* comm, int ranks, NcclUniqueId id, int rank,
                               NcclConfig* config) = nullptr;
  int (*comm_init_rank_scalable)(NcclComm* comm, int ranks, int rank, int id_count,
                                 NcclUniqueId* ids, NcclConfig* config) = nullptr;
  int (*comm_split)(NcclComm comm, int color, int key, NcclComm* made,
                    NcclConfig* config) = nullptr;
  int (*comm_get_async_error)(NcclComm comm, int* code) = nullptr;
  int (*comm_finalize)(NcclComm comm) = nullptr;
  int (*comm_destroy)(NcclComm comm) = nullptr;
  int (*comm_abort)(NcclComm comm) = nullptr;
  int (*all_reduce)(const void* from, void* to, size_t count, int type, int op, NcclComm comm,
                    GpuStream stream) = nullptr;
};

}  // namespace distinit
