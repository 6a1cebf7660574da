// SPDX-License-Identifier: Apache-2.0
#pragma once
// The check of one rank from beginning to end: library, GPU, communicators, trials, teardown.

#include "lib/base/environment.h"
#include "lib/nccl/check_result.h"
#include "lib/nccl/communicators.h"

#include <atomic>
#include <optional>

namespace distinit {

/// The name of this step's part of NCCL's log that says how data travel, "P2P/CUMEM,NET/IB/0", from
/// its lines "… via X"; distinct, at most four. Source: src/transport/{p2p,shm,net}.cc.
std::string transports_in(std::string_view log);

class CheckRun {
 public:
  /// `log_fd`: the file that NCCL will be told to log to; -1 for none.
  CheckRun(Environment environment, int log_fd);

  /// How long run() takes at most, unless the library never returns.
  milliseconds longest() const;
  CheckResult run();
  /// What to say when it did not; from another thread.
  CheckResult stuck() const;

 private:
  CheckResult failed(const BringUpFailure& failure) const;
  std::optional<BringUpFailure> try_all(Communicators& comms, Gpu& gpu, const NcclApi& api,
                                        Deadline deadline, CheckResult& result);

  Environment environment_;
  int log_fd_;
  std::optional<RankIdentity> identity_;
  CheckResult start_;  // what is known beforehand
};

/// Why no communicator can be brought up in this process whatever the others have: NCCL_COMM_ID is
/// set. Empty otherwise.
std::string refuse_environment(const Environment& environment);

/// The device that the rank uses: the first of DISTINIT_GPUS, else its local rank.
int device_of_rank(const Environment& environment, const RankIdentity& identity);

}  // namespace distinit
