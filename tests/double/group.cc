// SPDX-License-Identifier: Apache-2.0
// How a rank gets into its group: by ids, or out of a parent.
#include "tests/double/comm.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/double/fault.h"
#include "tests/double/hub.h"

namespace nccl_double {
namespace {

constexpr int kRetryPauseMs = 50;

ncclResult_t stopped_by_fault(const ncclComm& comm, const Wake& wake) {
  if (has_fault("die_init", comm.size)) {
    kill(getpid(), SIGKILL);
  }
  if (has_fault("hang_init", comm.size)) {
    return hang(comm, wake);
  }
  if (has_fault("fail_init", comm.size)) {
    log_warning(comm.device, "Call to ibv_open_device mlx5_0 failed");
    return ncclSystemError;
  }
  return ncclSuccess;
}

// The real library retries for a minute; a test would not wait for that.
ncclResult_t reach_hub(const ncclComm& comm, const IdContent& id, const Wake& wake, int& fd) {
  const int attempts = environment_number("DOUBLE_NCCL_RETRY_MS", 2000) / kRetryPauseMs + 1;
  int error = 0;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const Outcome outcome = connect_to(id.address, wake, fd, error);
    if (outcome == Outcome::kDone) {
      return ncclSuccess;
    }
    if (outcome == Outcome::kWoken || wait_ready(-1, 0, wake, kRetryPauseMs) == Outcome::kWoken) {
      return ncclInternalError;
    }
  }
  log_warning(comm.device, "socketPollConnect: connect to " + address_text(id.address) +
                               " returned " + strerror(error) +
                               ", exceeded error retry count after " + std::to_string(attempts) +
                               " attempts");
  return ncclRemoteError;
}

Hello hello_of(const ncclComm& comm) {
  Hello hello = {};
  hello.kind = kJoin;
  hello.rank = comm.rank;
  hello.size = comm.size;
  ncclGetVersion(&hello.version);
  hello.device = comm.device;
  hello.device_is_known = comm.device_is_known ? 1 : 0;
  hello.process = getpid();
  hello.host = hash_text(host_identity());
  const std::string number = std::to_string(comm.device);
  hello.bus = hash_text(
      environment("DOUBLE_CUDA_CURRENT_BUS", environment("DOUBLE_CUDA_BUS", number.c_str())));
  return hello;
}

void explain(const ncclComm& comm, const Answer& answer) {
  const std::string first = std::to_string(answer.first);
  const std::string second = std::to_string(answer.second);
  switch (answer.reason) {
    case kDuplicateDevice:
      log_warning(comm.device, "Duplicate GPU detected : rank " + first + " and rank " + second +
                                   " both on CUDA device " + std::to_string(comm.device));
      break;
    case kRankTwice:
      log_warning(comm.device, "Bootstrap Root : rank " + first + " has already checked in");
      break;
    case kOtherVersion:
      log_warning(comm.device, "Mismatched NCCL version detected : rank " + first + " and rank " +
                                   second + " differ");
      break;
    default:
      log_warning(comm.device, "Bootstrap Root : mismatch in rank count from rank " + first +
                                   " and rank " + second);
      break;
  }
}

// Says hello and waits until all ranks of the id have done so. The caller owns `fd` in any case.
ncclResult_t enter(const ncclComm& comm, const ncclUniqueId& id, Hello hello, const Wake& wake,
                   int& fd) {
  IdContent content;
  memcpy(&content, &id, sizeof content);
  hello.magic = content.magic;
  const ncclResult_t reached = reach_hub(comm, content, wake, fd);
  if (reached != ncclSuccess) {
    return reached;
  }
  Answer answer = {};
  Outcome outcome = send_all(fd, &hello, sizeof hello, wake);
  if (outcome == Outcome::kDone) {
    outcome = receive_all(fd, &answer, sizeof answer, wake);
  }
  if (outcome != Outcome::kDone) {
    return failed(comm, outcome);
  }
  if (answer.result != ncclSuccess) {
    explain(comm, answer);
  }
  return answer.result;
}

ncclResult_t join(ncclComm& comm, const ncclUniqueId& id, const Wake& wake) {
  const ncclResult_t result = enter(comm, id, hello_of(comm), wake, comm.hub);
  if (result != ncclSuccess) {
    return result;
  }
  comm.peers.resize(static_cast<size_t>(comm.size));
  return failed(comm,
                receive_all(comm.hub, comm.peers.data(), comm.peers.size() * sizeof(Peer), wake));
}

// With several ids, each root but the first sees just its slice of the ranks.
ncclResult_t check_in(const ncclComm& comm, const std::vector<ncclUniqueId>& ids) {
  const int roots = static_cast<int>(ids.size());
  const int base = comm.size / roots;
  const int larger = comm.size % roots;
  int root = 0;
  int first = 0;
  int slice = base + (larger > 0 ? 1 : 0);
  while (comm.rank >= first + slice) {
    first += slice;
    ++root;
    slice = base + (root < larger ? 1 : 0);
  }
  if (root == 0) {
    return ncclSuccess;
  }
  Hello hello = hello_of(comm);
  hello.kind = kCheckIn;
  hello.rank = comm.rank - first;
  hello.size = slice;
  hello.root = root;
  int fd = -1;
  const ncclResult_t result = enter(comm, ids[static_cast<size_t>(root)], hello, comm.wake, fd);
  if (fd >= 0) {
    ::close(fd);
  }
  return result;
}

}  // namespace

ncclResult_t failed(const ncclComm& comm, Outcome outcome) {
  if (outcome == Outcome::kClosed) {
    log_warning(comm.device, "Net : Connection closed by remote peer");
    return ncclRemoteError;
  }
  return outcome == Outcome::kDone ? ncclSuccess : ncclInternalError;
}

ncclResult_t hang(const ncclComm& comm, const Wake& wake) {
  return failed(comm, wait_ready(-1, 0, wake, -1));
}

ncclResult_t join_group(ncclComm& comm, const std::vector<ncclUniqueId>& ids) {
  ncclResult_t result = stopped_by_fault(comm, comm.wake);
  if (result == ncclSuccess && ids.size() > 1) {
    result = check_in(comm, ids);
  }
  return result == ncclSuccess ? join(comm, ids.front(), comm.wake) : result;
}

ncclResult_t split_group(ncclComm& parent, int color, int key, bool blocking, ncclComm_t& child) {
  const bool takes_part = color != NCCL_SPLIT_NOCOLOR;
  ncclUniqueId offer = {};
  ncclResult_t result = takes_part ? make_id(offer) : ncclSuccess;
  if (result != ncclSuccess) {
    return result;
  }
  Request request = {};
  request.kind = kSplit;
  request.color = color;
  request.key = key;
  request.bytes = sizeof offer;
  Reply reply = {};
  std::string chosen;
  result = ask_hub(parent, request, &offer, reply, chosen);
  const bool is_chosen = result == ncclSuccess && memcmp(chosen.data(), &offer, sizeof offer) == 0;
  if (takes_part && !is_chosen) {
    cancel_id(offer);
  }
  if (result != ncclSuccess || !takes_part) {
    return result;
  }
  auto comm = std::make_unique<ncclComm>(reply.new_rank, reply.new_size, blocking);
  comm->device = parent.device;
  comm->device_is_known = parent.device_is_known;
  ncclUniqueId id;
  memcpy(&id, chosen.data(), sizeof id);
  // The caller has no handle of the child yet: it is the parent that an abort wakes.
  result = stopped_by_fault(*comm, parent.wake);
  if (result == ncclSuccess) {
    result = join(*comm, id, parent.wake);
  }
  if (result == ncclSuccess) {
    std::atomic_ref<ncclComm_t>(child).store(comm.release(), std::memory_order_release);
  } else if (is_chosen) {
    cancel_id(id);
  }
  return result;
}

}  // namespace nccl_double
