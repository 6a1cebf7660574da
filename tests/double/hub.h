// SPDX-License-Identifier: Apache-2.0
#pragma once
// The server behind a unique id: takes in the ranks, then adds their elements and splits them.

#include "tests/double/nccl_types.h"

namespace nccl_double {

// Opens a listening socket and starts the thread that serves it.
ncclResult_t make_id(ncclUniqueId& id);

// Ends the hub of an id of this process that nobody will use.
void cancel_id(const ncclUniqueId& id);

}  // namespace nccl_double
