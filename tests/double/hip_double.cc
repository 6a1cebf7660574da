// SPDX-License-Identifier: Apache-2.0
// A test double of the HIP library, libamdhip64.so. Device memory is memory of the process.
#include <cstdio>
#include <cstdlib>

#include <string.h>

#include "tests/double/device.h"
#include "tests/double/nccl_types.h"

using namespace nccl_double;

namespace {

typedef int hipError_t;

constexpr hipError_t kSuccess = 0;
constexpr hipError_t kInvalidValue = 1;
constexpr hipError_t kOutOfMemory = 2;
constexpr hipError_t kNoDevice = 100;
constexpr hipError_t kInvalidDevice = 101;
constexpr hipError_t kInvalidHandle = 400;
constexpr hipError_t kNotReady = 600;
constexpr hipError_t kLaunchFailed = 719;

constexpr char kVisible[] = "HIP_VISIBLE_DEVICES";

bool is_device(int device) {
  return device >= 0 && device < device_count(kVisible);
}

hipError_t as_result(StreamState state) {
  switch (state) {
    case StreamState::kIdle:
      return kSuccess;
    case StreamState::kBusy:
      return kNotReady;
    case StreamState::kFailed:
      return kLaunchFailed;
    case StreamState::kUnknown:
      break;
  }
  return kInvalidHandle;
}

}  // namespace

extern "C" {

DOUBLE_EXPORT hipError_t hipInit(unsigned flags) {
  if (flags != 0) {
    return kInvalidValue;
  }
  return device_count(kVisible) == 0 ? kNoDevice : kSuccess;
}

DOUBLE_EXPORT hipError_t hipGetDeviceCount(int* count) {
  *count = device_count(kVisible);
  return *count == 0 ? kNoDevice : kSuccess;
}

DOUBLE_EXPORT hipError_t hipSetDevice(int device) {
  if (!is_device(device)) {
    return kInvalidDevice;
  }
  set_current_device(kVisible, device);
  return kSuccess;
}

DOUBLE_EXPORT hipError_t hipDeviceGetPCIBusId(char* text, int length, int device) {
  if (!is_device(device)) {
    return kInvalidDevice;
  }
  snprintf(text, static_cast<size_t>(length), "%s", device_bus_id(kVisible, device).c_str());
  return kSuccess;
}

DOUBLE_EXPORT hipError_t hipMalloc(void** address, size_t bytes) {
  *address = malloc(bytes);
  return *address != nullptr || bytes == 0 ? kSuccess : kOutOfMemory;
}

DOUBLE_EXPORT hipError_t hipFree(void* address) {
  free(address);
  return kSuccess;
}

DOUBLE_EXPORT hipError_t hipMemcpy(void* to, const void* from, size_t bytes, int) {
  memcpy(to, from, bytes);
  return kSuccess;
}

DOUBLE_EXPORT hipError_t hipMemset(void* address, int value, size_t bytes) {
  memset(address, value, bytes);
  return kSuccess;
}

DOUBLE_EXPORT hipError_t hipStreamCreate(void** stream) {
  *stream = make_stream();
  return kSuccess;
}

DOUBLE_EXPORT hipError_t hipStreamDestroy(void* stream) {
  return destroy_stream(stream) ? kSuccess : kInvalidHandle;
}

DOUBLE_EXPORT hipError_t hipStreamQuery(void* stream) {
  return as_result(query_stream(stream));
}

DOUBLE_EXPORT hipError_t hipStreamSynchronize(void* stream) {
  return as_result(wait_for_stream(stream));
}

DOUBLE_EXPORT const char* hipGetErrorString(hipError_t result) {
  switch (result) {
    case kSuccess:
      return "no error";
    case kInvalidValue:
      return "invalid argument";
    case kOutOfMemory:
      return "out of memory";
    case kNoDevice:
      return "no ROCm-capable device is detected";
    case kInvalidDevice:
      return "invalid device ordinal";
    case kInvalidHandle:
      return "invalid resource handle";
    case kNotReady:
      return "device not ready";
    case kLaunchFailed:
      return "unspecified launch failure";
    default:
      return "unknown error";
  }
}

}  // extern "C"
