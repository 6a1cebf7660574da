// SPDX-License-Identifier: Apache-2.0
#pragma once
// The CPUs and the memory that a program starts with. Best effort: a program that runs in the wrong
// place is better than none.

#include <string>

namespace distinit {

/// Lets this process run on those of the list ("0-3,8") that it may run on already. Nothing changes
/// where there is none, or the list can't be read.
void bind_to_cpus(const std::string& list);

/// Prefers memory of the NUMA node, now and in what this process execs; -1 leaves the policy.
void prefer_memory_of(int node);

}  // namespace distinit
