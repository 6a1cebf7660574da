// SPDX-License-Identifier: Apache-2.0
#pragma once
// Faults to order (DOUBLE_NCCL_FAULT) and the log in NCCL's format (NCCL_DEBUG).

#include <string>

namespace nccl_double {

// Whether this process has the fault in a communicator of `size` ranks. `value` is what follows
// "=", 0 without.
bool has_fault(const char* kind, int size, int* value = nullptr);

void log_info(int device, const std::string& text);

// Also what ncclGetLastError returns from now on.
void log_warning(int device, const std::string& text);
std::string last_warning();

}  // namespace nccl_double
