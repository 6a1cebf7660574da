// SPDX-License-Identifier: Apache-2.0
#pragma once
// The communicator of the world and of every group that this rank is in, brought up together.

#include "lib/nccl/gpu.h"
#include "lib/nccl/library.h"
#include "lib/nccl/meeting.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace distinit {

/// One live communicator.
struct GroupComm {
  Membership group;
  NcclComm comm = nullptr;
  double seconds = 0;  ///< that this rank needed to bring it up
};

/// Why a rank has no communicators.
struct BringUpFailure {
  Error error;
  /// Another rank failed and has told so; this one only ended for it.
  bool is_consequence = false;
  /// Nothing is wrong: no rank of the step can (no library, no GPU).
  bool is_unable = false;
};

/// Owns the communicators of this process. The device must be current in the calling thread, the
/// same for all calls.
class Communicators {
 public:
  struct Setup {
    RankIdentity identity;
    NcclLibrary library;
    std::string purpose;  ///< see Meeting
    /// comms=: by splitting the world's communicator where the library can, or by one id a group.
    bool split = true;
  };

  /// Does not use a library or a device yet; `unable`, where not empty, says why this rank can't.
  Communicators(Setup setup, std::string unable)
      : setup_(std::move(setup)), unable_(std::move(unable)) {}
  /// Aborts what is left.
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  /// All or nothing: on failure everything is aborted by the deadline, save a call of the library
  /// that never returns. Call it once. All ranks of the step must, with equal specs.
  std::optional<BringUpFailure> bring_up(Deadline deadline);

  /// The world first, then the types in the mesh's order.
  const std::vector<GroupComm>& groups() const { return groups_; }
  /// The group of this type, or nullptr.
  const GroupComm* find(std::string_view type) const;
  bool was_split() const { return by_split_; }

  /// Runs `start` (which calls the library for one group's communicator) and waits for `is_done`,
  /// looking at the communicator's state and at other ranks' failures on the way; fails at the
  /// deadline, naming who is missing. `doing` completes "tp group 1 (ranks 2,3): ". Steps are
  /// told to the store, repetitions of one are not.
  std::optional<BringUpFailure> run(const GroupComm& group, std::string_view doing,
                                    const std::function<int()>& start,
                                    const std::function<Result<bool>()>& is_done, Deadline deadline,
                                    bool is_repetition = false);

  /// Tells the others why this rank fails.
  void tell_failure(const Error& error);

  /// Ends all in order, newest first; a collective, like bring_up. Aborts what is not done by then.
  void finalize(Deadline deadline);
  /// Ends all at once, by this rank alone.
  void abort();

 private:
  std::optional<BringUpFailure> take_ids(Deadline deadline);
  std::optional<BringUpFailure> start_group(GroupComm& group, Deadline deadline);
  std::optional<BringUpFailure> split_group(GroupComm& group, Deadline deadline);
  std::optional<BringUpFailure> poll(const GroupComm& group, std::string_view doing,
                                     const std::function<Result<bool>()>& is_done,
                                     Deadline deadline);
  /// Waits a moment for another rank to tell why.
  std::optional<BringUpFailure> others_failure();
  BringUpFailure failed(Error error);
  BringUpFailure nccl_failed(const GroupComm& group, std::string_view doing, int code,
                             NcclComm comm);
  BringUpFailure too_late(const GroupComm& group, std::string_view doing);

  Setup setup_;
  std::string unable_;
  std::optional<Meeting> meeting_;
  std::vector<GroupComm> groups_;
  std::vector<std::vector<NcclUniqueId>> ids_;  // by group, in its order
  bool by_split_ = false;
  int step_ = 0;
};

}  // namespace distinit
