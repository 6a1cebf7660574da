// SPDX-License-Identifier: Apache-2.0
#pragma once
// A communicator of the double: its place in the group, its work in order, and how it ends.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/double/nccl_types.h"
#include "tests/double/wire.h"

namespace nccl_double {

// What one call has to do; `after` runs once the result is visible in the communicator's state, and
// also where the work was dropped by an abort.
struct Job {
  std::function<ncclResult_t()> work;
  std::function<void(ncclResult_t)> after;
  bool is_setup = false;  // init or split: no other call is allowed meanwhile
};

inline constexpr uint64_t kCommMagic = 0x6e63636c64626c65;

}  // namespace nccl_double

struct ncclComm {
  ncclComm(int rank_in_group, int group_size, bool is_blocking);
  ~ncclComm();
  ncclComm(const ncclComm&) = delete;
  ncclComm& operator=(const ncclComm&) = delete;

  // In the calling thread.
  ncclResult_t run(const nccl_double::Job& job);
  // In the communicator's own thread, in the order of the calls.
  void post(nccl_double::Job job);
  // Waits until all posted work is done.
  ncclResult_t drain();
  // Ends all work: at once (abort), or when it is done.
  void stop(bool abort);

  ncclResult_t state();
  bool is_in_setup();

  uint64_t magic = nccl_double::kCommMagic;
  int rank;
  int size;
  bool blocking;
  int device = 0;
  bool device_is_known = false;
  int hub = -1;  // socket
  uint64_t sequence = 0;
  bool has_logged_channels = false;
  std::vector<nccl_double::Peer> peers;
  nccl_double::Wake wake;

 private:
  void work_off();
  ncclResult_t finish(const nccl_double::Job& job, bool do_it);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<nccl_double::Job> jobs_;
  std::thread worker_;
  ncclResult_t error_ = ncclSuccess;
  int pending_ = 0;
  int setups_ = 0;
  bool stopping_ = false;
  bool aborted_ = false;
};

namespace nccl_double {

// The steps behind the calls; all wait on the communicator's wake.
ncclResult_t join_group(ncclComm& comm, const std::vector<ncclUniqueId>& ids);
ncclResult_t split_group(ncclComm& parent, int color, int key, bool blocking, ncclComm_t& child);
ncclResult_t all_reduce(ncclComm& comm, const void* send_buffer, void* receive_buffer, size_t count,
                        int datatype, int op);

// Sends a request and takes the reply and its payload.
ncclResult_t ask_hub(ncclComm& comm, Request request, const void* payload, Reply& reply,
                     std::string& answer);
ncclResult_t failed(const ncclComm& comm, Outcome outcome);

// Sleeps until the communicator is aborted.
ncclResult_t hang(const ncclComm& comm, const Wake& wake);

}  // namespace nccl_double
