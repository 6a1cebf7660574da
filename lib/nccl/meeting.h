// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the ranks of one bring-up say to each other through the store: who can take part, the ids,
// how far each has come, and the first failure. Each rank's number of operations depends on the
// number of its groups, never on the world, until something fails.

#include "lib/nccl/group_ids.h"
#include "lib/nccl/rank_identity.h"
#include "lib/store/client.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distinit {

/// One attempt of all ranks. Keys are "distinit/comm/STEP/PURPOSE/ATTEMPT/…"; PyTorch's begin with
/// '/', so the two never meet. Not for several threads at once.
class Meeting {
 public:
  /// Connects. `purpose` is one word, the same on all ranks. Every rank makes its attempts for one
  /// purpose in the same order.
  static Result<Meeting> open(const RankIdentity& identity, std::string_view purpose,
                              Deadline deadline);

  /// Tells whether this rank can take part (`unable` is empty) or why not, and waits until all have
  /// told. The number of ranks that can't.
  Result<int> agree(std::string_view unable, Deadline deadline);
  /// Why one of the ranks can't, beginning with its name; after agree.
  std::string why_unable();

  /// One SET each; name as in fetch.
  Status publish(const std::string& name, std::string_view value, Deadline deadline);
  /// The values, when all are there; two operations.
  Result<std::vector<std::string>> fetch(std::vector<std::string> names, Deadline deadline);

  /// This rank is at `step` (counted from 1 through all calls of the attempt); `inside` until the
  /// call has returned.
  void mark(int step, bool inside, Deadline deadline);

  /// The first failure that any rank has told; asks the store.
  std::optional<std::string> failure();
  /// Tells this rank's failure to all; only the first counts.
  void tell_failure(std::string_view text);

  /// Of `ranks`, those that have not come to `step`, and those that are in its call though others
  /// have left it, as text: "rank 3 on n2 has not come". Empty where there is none. Linear in
  /// `ranks`, so only the first rank that asks gets an answer; nullopt for the others.
  std::optional<std::string> find_absent(const std::vector<int>& ranks, int step);

 private:
  Meeting(StoreClient store, const RankIdentity& identity)
      : store_(std::move(store)), identity_(identity) {}
  std::string key(std::string_view name) const;
  std::optional<std::string> look(std::string_view name);

  StoreClient store_;
  RankIdentity identity_;
  std::string prefix_;
};

}  // namespace distinit
