// SPDX-License-Identifier: Apache-2.0
#pragma once
// One rank's part in making and passing round the unique ids of its groups.

#include "lib/nccl/library.h"
#include "lib/nccl/meeting.h"

#include <vector>

namespace distinit {

/// Makes the ids of those roots of `groups` whose slice begins with this rank, publishes them, and
/// fetches all: for each group its roots' ids, in order. `groups` begins with the world. All ids
/// are published before the first is used, so that a rank waits for the slowest maker once: one SET
/// for each id made, and at most four operations.
///
/// The roots live in this process, until all ranks of the group have come: it must not exec.
/// kCommunicator where the library fails, or has another version than a maker's (the check-in
/// differs between versions, and within a family NCCL refuses it later); the store's errors.
Result<std::vector<std::vector<NcclUniqueId>>> exchange_ids(Meeting& meeting,
                                                            const NcclLibrary& library,
                                                            const RankIdentity& identity,
                                                            const std::vector<Membership>& groups,
                                                            Deadline deadline);

}  // namespace distinit
