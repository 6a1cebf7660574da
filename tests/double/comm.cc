// SPDX-License-Identifier: Apache-2.0
#include "tests/double/comm.h"

#include <cstdlib>
#include <utility>

#include <unistd.h>

ncclComm::ncclComm(int rank_in_group, int group_size, bool is_blocking)
    : rank(rank_in_group), size(group_size), blocking(is_blocking) {
  // Set by the CUDA and HIP doubles; without them the device is not checked.
  const char* current = getenv("DOUBLE_CUDA_CURRENT");
  device_is_known = current != nullptr;
  device = current != nullptr ? atoi(current) : 0;
}

ncclComm::~ncclComm() {
  stop(true);
  if (hub >= 0) {
    ::close(hub);
  }
  magic = 0;
}

ncclResult_t ncclComm::run(const nccl_double::Job& job) {
  bool do_it = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    do_it = !stopping_;
    ++pending_;
    setups_ += job.is_setup ? 1 : 0;
  }
  return finish(job, do_it);
}

void ncclComm::post(nccl_double::Job job) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++pending_;
  setups_ += job.is_setup ? 1 : 0;
  jobs_.push_back(std::move(job));
  if (!worker_.joinable()) {
    worker_ = nccl_double::start_quiet_thread([this] { work_off(); });
  }
  changed_.notify_all();
}

void ncclComm::work_off() {
  for (;;) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) {
      return;
    }
    const nccl_double::Job job = std::move(jobs_.front());
    jobs_.pop_front();
    const bool do_it = !aborted_ && error_ == ncclSuccess;
    lock.unlock();
    finish(job, do_it);
  }
}

ncclResult_t ncclComm::finish(const nccl_double::Job& job, bool do_it) {
  const ncclResult_t result = do_it ? job.work() : ncclInternalError;
  ncclResult_t on_stream = ncclSuccess;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (do_it && result != ncclSuccess && error_ == ncclSuccess) {
      error_ = result;
    }
    // An abort leaves the stream in order, as the kernel of the real library does.
    on_stream = aborted_ ? ncclSuccess : error_;
    --pending_;
    setups_ -= job.is_setup ? 1 : 0;
    // Notified under the lock: the waiter may delete this communicator at once.
    changed_.notify_all();
  }
  // The stream turns idle after the state does: who waits for the stream only may call on.
  if (job.after) {
    job.after(on_stream);
  }
  return result;
}

ncclResult_t ncclComm::drain() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return pending_ == 0; });
  return error_;
}

void ncclComm::stop(bool abort) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (abort) {
    aborted_ = true;
    wake.wake();
  }
  changed_.wait(lock, [this] { return pending_ == 0; });
  stopping_ = true;
  changed_.notify_all();
  lock.unlock();
  if (worker_.joinable()) {
    worker_.join();
  }
}

ncclResult_t ncclComm::state() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (error_ != ncclSuccess) {
    return error_;
  }
  return pending_ > 0 ? ncclInProgress : ncclSuccess;
}

bool ncclComm::is_in_setup() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return setups_ > 0;
}
