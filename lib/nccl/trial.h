// SPDX-License-Identifier: Apache-2.0
#pragma once
// The trial of one group: an all-reduce whose every element is verified, and its bandwidth.

#include "lib/nccl/check_result.h"
#include "lib/nccl/communicators.h"

#include <stddef.h>

namespace distinit {

/// Device memory and a stream for all trials of a rank.
class TrialGround {
 public:
  /// Room for `bytes` bytes in and out; `gpu` must outlive it.
  static Result<TrialGround> create(Gpu& gpu, size_t bytes);
  ~TrialGround();
  TrialGround(TrialGround&& other) noexcept;
  TrialGround& operator=(TrialGround&&) = delete;

  Gpu& gpu() const { return *gpu_; }
  void* in() const { return in_; }
  void* out() const { return out_; }
  GpuStream stream() const { return stream_; }
  size_t bytes() const { return bytes_; }

 private:
  explicit TrialGround(Gpu& gpu, size_t bytes) : gpu_(&gpu), bytes_(bytes) {}

  Gpu* gpu_;
  size_t bytes_;
  void* in_ = nullptr;
  void* out_ = nullptr;
  GpuStream stream_ = nullptr;
};

/// What rank `rank` brings as element `element` to group `index` of a type: mixed, so that another
/// rank, group or place gives another sum. Sums wrap around.
uint64_t trial_value(int rank, std::string_view type, int index, size_t element);

/// Runs the trial of groups()[i] of `comms` on all its ranks and fills `figures`.
std::optional<BringUpFailure> try_group(Communicators& comms, const RankIdentity& identity,
                                        const NcclApi& api, size_t i, const TrialGround& ground,
                                        Deadline deadline, GroupFigures& figures);

}  // namespace distinit
