// SPDX-License-Identifier: Apache-2.0
#pragma once
// The part of the NCCL interface that the test double exports. Written down here, because nccl.h
// needs the CUDA headers and may be absent; values and layouts are those of nccl.h.

#include <limits.h>
#include <stddef.h>

#define DOUBLE_EXPORT __attribute__((visibility("default")))

#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_SPLIT_NOCOLOR (-1)

extern "C" {

typedef struct ncclComm* ncclComm_t;

typedef struct {
  char internal[128];
} ncclUniqueId;

typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7
} ncclResult_t;

typedef enum {
  ncclInt32 = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat32 = 7,
  ncclFloat64 = 8
} ncclDataType_t;

typedef enum { ncclSum = 0 } ncclRedOp_t;

// The head of ncclConfig_t, which all versions share; `size` tells how much follows.
typedef struct {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int blocking;
} ncclConfig_t;

#define DOUBLE_CONFIG_MAGIC 0xcafebeefU

DOUBLE_EXPORT ncclResult_t ncclGetVersion(int* version);
DOUBLE_EXPORT const char* ncclGetErrorString(ncclResult_t result);
DOUBLE_EXPORT const char* ncclGetLastError(ncclComm_t comm);
DOUBLE_EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
DOUBLE_EXPORT ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId id,
                                            int rank);
DOUBLE_EXPORT ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId id,
                                                  int rank, ncclConfig_t* config);
DOUBLE_EXPORT ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int nranks, int rank,
                                                    int id_count, ncclUniqueId* ids,
                                                    ncclConfig_t* config);
DOUBLE_EXPORT ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm,
                                         ncclConfig_t* config);
DOUBLE_EXPORT ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* result);
DOUBLE_EXPORT ncclResult_t ncclCommFinalize(ncclComm_t comm);
DOUBLE_EXPORT ncclResult_t ncclCommDestroy(ncclComm_t comm);
DOUBLE_EXPORT ncclResult_t ncclCommAbort(ncclComm_t comm);
DOUBLE_EXPORT ncclResult_t ncclCommCount(ncclComm_t comm, int* count);
DOUBLE_EXPORT ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank);
DOUBLE_EXPORT ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device);
DOUBLE_EXPORT ncclResult_t ncclAllReduce(const void* send_buffer, void* receive_buffer,
                                         size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                                         ncclComm_t comm, void* stream);
DOUBLE_EXPORT ncclResult_t ncclGroupStart();
DOUBLE_EXPORT ncclResult_t ncclGroupEnd();

}  // extern "C"
