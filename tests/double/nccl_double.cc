// SPDX-License-Identifier: Apache-2.0
// The functions of the double of libnccl.so.2 and librccl.so.1. See README.md.
#include "tests/double/nccl_types.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/double/comm.h"
#include "tests/double/fault.h"
#include "tests/double/hub.h"
#include "tests/double/stream.h"

namespace nccl_double {
namespace {

// What a thread called between ncclGroupStart and ncclGroupEnd.
struct GroupCall {
  ncclComm_t comm;
  ncclComm_t* made;  // of an init: cleared when that fails
};

thread_local int group_depth = 0;
thread_local std::vector<GroupCall> group_calls;

// The wait is long enough for the id to be handed on.
constexpr auto kTimeToPublishAnId = std::chrono::milliseconds(50);

bool is_valid(ncclComm_t comm) {
  return comm != nullptr && comm->magic == kCommMagic;
}

ncclResult_t reject(const char* text) {
  log_warning(0, text);
  return ncclInvalidArgument;
}

// A communicator that is still being set up must not be used.
ncclResult_t check_ready(ncclComm_t comm) {
  if (!is_valid(comm)) {
    return reject("communicator is not valid");
  }
  if (comm->is_in_setup() && group_depth == 0) {
    return reject("Attempt to use communicator before the previous operation returned ncclSuccess");
  }
  const ncclResult_t state = comm->state();
  return state == ncclInProgress ? ncclSuccess : state;
}

bool chosen_blocking(const ncclConfig_t* config, bool otherwise) {
  const int forced = environment_number("NCCL_COMM_BLOCKING", NCCL_CONFIG_UNDEF_INT);
  if (forced != NCCL_CONFIG_UNDEF_INT) {
    return forced != 0;
  }
  const bool is_set = config != nullptr && config->blocking != NCCL_CONFIG_UNDEF_INT;
  return is_set ? config->blocking != 0 : otherwise;
}

// Runs the job here, or hands it to the communicator's thread where the caller will not wait.
ncclResult_t start(ncclComm_t comm, Job job, ncclComm_t* made) {
  if (comm->blocking && group_depth == 0) {
    return comm->run(job);
  }
  comm->post(std::move(job));
  if (group_depth > 0) {
    group_calls.push_back({comm, made});
    return ncclSuccess;
  }
  return ncclInProgress;
}

ncclResult_t init(ncclComm_t* newcomm, int size, int rank, std::vector<ncclUniqueId> ids,
                  const ncclConfig_t* config) {
  if (newcomm == nullptr || size < 1 || rank < 0 || rank >= size) {
    return reject("Invalid rank requested");
  }
  if (config != nullptr && config->magic != DOUBLE_CONFIG_MAGIC) {
    return reject("ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
  }
  auto comm = std::make_unique<ncclComm>(rank, size, chosen_blocking(config, true));
  Job job;
  job.is_setup = true;
  job.work = [self = comm.get(), ids = std::move(ids)] { return join_group(*self, ids); };
  if (comm->blocking && group_depth == 0) {
    const ncclResult_t done = comm->run(job);
    *newcomm = done == ncclSuccess ? comm.release() : nullptr;
    return done;
  }
  *newcomm = comm.release();
  return start(*newcomm, std::move(job), newcomm);
}

}  // namespace
}  // namespace nccl_double

using namespace nccl_double;

ncclResult_t ncclGetVersion(int* version) {
  *version = environment_number("DOUBLE_NCCL_VERSION", 22809);
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
  }
  return "unknown result code";
}

const char* ncclGetLastError(ncclComm_t) {
  thread_local std::string text;
  text = last_warning();
  return text.c_str();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (id == nullptr) {
    return reject("GetUniqueId : uniqueId argument is NULL");
  }
  if (has_fault("fail_id", 0)) {
    log_warning(0, "Bootstrap : no socket interface found");
    return ncclSystemError;
  }
  const ncclResult_t result = make_id(*id);
  if (has_fault("die_after_id", 0)) {
    start_quiet_thread([] {
      std::this_thread::sleep_for(kTimeToPublishAnId);
      kill(getpid(), SIGKILL);
    }).detach();
  }
  return result;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank) {
  return init(comm, nranks, rank, {id}, nullptr);
}

#ifndef DOUBLE_WITHOUT_CONFIG
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  return init(comm, nranks, rank, {id}, config);
}
#endif

#ifndef DOUBLE_WITHOUT_SCALABLE
ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int nranks, int rank, int id_count,
                                      ncclUniqueId* ids, ncclConfig_t* config) {
  if (ids == nullptr || id_count < 1 || id_count > nranks) {
    return reject("improper usage of ncclCommInitRank: nId");
  }
  return init(comm, nranks, rank, std::vector<ncclUniqueId>(ids, ids + id_count), config);
}
#endif

#ifndef DOUBLE_WITHOUT_SPLIT
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm,
                           ncclConfig_t* config) {
  const ncclResult_t ready = check_ready(comm);
  if (ready != ncclSuccess) {
    return ready;
  }
  if (newcomm == nullptr || color < NCCL_SPLIT_NOCOLOR) {
    return reject("CommSplit : invalid argument");
  }
  if (config != nullptr && config->magic != DOUBLE_CONFIG_MAGIC) {
    return reject("ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
  }
  *newcomm = nullptr;
  const bool blocking = chosen_blocking(config, comm->blocking);
  Job job;
  job.is_setup = true;
  job.work = [=] { return split_group(*comm, color, key, blocking, *newcomm); };
  return start(comm, std::move(job), nullptr);
}
#endif

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* result) {
  if (!is_valid(comm) || result == nullptr) {
    return reject("ncclGetAsyncError : invalid argument");
  }
  *result = comm->state();
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  const ncclResult_t ready = check_ready(comm);
  if (ready != ncclSuccess) {
    return ready;
  }
  return comm->blocking ? comm->drain() : comm->state();
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm == nullptr) {
    return ncclSuccess;
  }
  if (!is_valid(comm)) {
    return reject("communicator is not valid");
  }
  comm->stop(false);
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (comm == nullptr) {
    return ncclSuccess;
  }
  if (!is_valid(comm)) {
    return reject("communicator is not valid");
  }
  comm->stop(true);
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommCount(ncclComm_t comm, int* count) {
  const ncclResult_t ready = check_ready(comm);
  if (ready == ncclSuccess) {
    *count = comm->size;
  }
  return ready;
}

ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  const ncclResult_t ready = check_ready(comm);
  if (ready == ncclSuccess) {
    *rank = comm->rank;
  }
  return ready;
}

ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device) {
  const ncclResult_t ready = check_ready(comm);
  if (ready == ncclSuccess) {
    *device = comm->device;
  }
  return ready;
}

ncclResult_t ncclAllReduce(const void* send_buffer, void* receive_buffer, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm, void* stream) {
  const ncclResult_t ready = check_ready(comm);
  if (ready != ncclSuccess) {
    return ready;
  }
  if (element_size(datatype) == 0 || op != ncclSum ||
      (count > 0 && (send_buffer == nullptr || receive_buffer == nullptr))) {
    return reject("AllReduce : invalid argument, or one that the double does not support");
  }
  Job job;
  job.work = [=] { return all_reduce(*comm, send_buffer, receive_buffer, count, datatype, op); };
  if (DoubleStream* busy = as_double_stream(stream)) {
    busy->pending.fetch_add(1);
    job.after = [busy](ncclResult_t result) {
      busy->failed.fetch_add(result == ncclSuccess ? 0 : 1);
      busy->pending.fetch_sub(1);
    };
  }
  return start(comm, std::move(job), nullptr);
}

ncclResult_t ncclGroupStart() {
  ++group_depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group_depth == 0) {
    log_warning(0, "ncclGroupEnd: not in a group call.");
    return ncclInvalidUsage;
  }
  if (--group_depth > 0) {
    return ncclSuccess;
  }
  const std::vector<GroupCall> calls = std::move(group_calls);
  group_calls.clear();
  ncclResult_t result = ncclSuccess;
  for (const GroupCall& call : calls) {
    const ncclResult_t each = call.comm->blocking ? call.comm->drain() : call.comm->state();
    if (each != ncclSuccess && (result == ncclSuccess || result == ncclInProgress)) {
      result = each;
    }
    if (call.made != nullptr && call.comm->blocking && each != ncclSuccess) {
      *call.made = nullptr;
      delete call.comm;
    }
  }
  return result;
}
