// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the doubles of the CUDA and the HIP library have in common.

#include <string>

namespace nccl_double {

// Devices that the process sees: DOUBLE_CUDA_DEVICES, less what `visible` (CUDA_VISIBLE_DEVICES or
// HIP_VISIBLE_DEVICES) leaves out.
int device_count(const char* visible);
std::string device_bus_id(const char* visible, int device);

// Told to the NCCL double by the environment; -1 for none.
void set_current_device(const char* visible, int device);

void* make_stream();
bool destroy_stream(void* stream);
enum class StreamState { kIdle, kBusy, kFailed, kUnknown };
StreamState query_stream(void* stream);
StreamState wait_for_stream(void* stream);

}  // namespace nccl_double
