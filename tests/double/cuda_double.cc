// SPDX-License-Identifier: Apache-2.0
// A test double of the CUDA driver library, libcuda.so.1. Device memory is memory of the process.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <string.h>

#include "tests/double/device.h"
#include "tests/double/nccl_types.h"

using namespace nccl_double;

namespace {

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;

constexpr CUresult kSuccess = 0;
constexpr CUresult kInvalidValue = 1;
constexpr CUresult kOutOfMemory = 2;
constexpr CUresult kNotInitialized = 3;
constexpr CUresult kNoDevice = 100;
constexpr CUresult kInvalidDevice = 101;
constexpr CUresult kInvalidHandle = 400;
constexpr CUresult kNotReady = 600;
constexpr CUresult kLaunchFailed = 719;

constexpr char kVisible[] = "CUDA_VISIBLE_DEVICES";
constexpr int kMaxDevices = 64;

struct Context {
  int device;
};

std::atomic<bool> is_initialized = false;
Context contexts[kMaxDevices];

CUresult check_device(CUdevice device) {
  if (!is_initialized.load()) {
    return kNotInitialized;
  }
  return device >= 0 && device < device_count(kVisible) && device < kMaxDevices ? kSuccess
                                                                                : kInvalidDevice;
}

CUresult as_result(StreamState state) {
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

void* as_memory(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}

}  // namespace

extern "C" {

DOUBLE_EXPORT CUresult cuInit(unsigned flags) {
  if (flags != 0) {
    return kInvalidValue;
  }
  if (device_count(kVisible) == 0) {
    return kNoDevice;
  }
  is_initialized.store(true);
  return kSuccess;
}

DOUBLE_EXPORT CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}

DOUBLE_EXPORT CUresult cuDeviceGetCount(int* count) {
  if (!is_initialized.load()) {
    return kNotInitialized;
  }
  *count = device_count(kVisible);
  return kSuccess;
}

DOUBLE_EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  const CUresult result = check_device(ordinal);
  if (result == kSuccess) {
    *device = ordinal;
  }
  return result;
}

DOUBLE_EXPORT CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  const CUresult result = check_device(device);
  if (result == kSuccess) {
    snprintf(name, static_cast<size_t>(length), "Test double %d", device);
  }
  return result;
}

DOUBLE_EXPORT CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
  const CUresult result = check_device(device);
  if (result == kSuccess) {
    snprintf(text, static_cast<size_t>(length), "%s", device_bus_id(kVisible, device).c_str());
  }
  return result;
}

DOUBLE_EXPORT CUresult cuDevicePrimaryCtxRetain(void** context, CUdevice device) {
  const CUresult result = check_device(device);
  if (result == kSuccess) {
    contexts[device].device = device;
    *context = &contexts[device];
  }
  return result;
}

DOUBLE_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return check_device(device);
}

DOUBLE_EXPORT CUresult cuCtxSetCurrent(void* context) {
  if (!is_initialized.load()) {
    return kNotInitialized;
  }
  set_current_device(kVisible, context == nullptr ? -1 : static_cast<Context*>(context)->device);
  return kSuccess;
}

DOUBLE_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  if (address == nullptr || bytes == 0) {
    return kInvalidValue;
  }
  void* memory = malloc(bytes);
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return memory != nullptr ? kSuccess : kOutOfMemory;
}

DOUBLE_EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
  free(as_memory(address));
  return kSuccess;
}

DOUBLE_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  memcpy(as_memory(to), from, bytes);
  return kSuccess;
}

DOUBLE_EXPORT CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  memcpy(to, as_memory(from), bytes);
  return kSuccess;
}

DOUBLE_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr address, unsigned char value, size_t bytes) {
  memset(as_memory(address), value, bytes);
  return kSuccess;
}

DOUBLE_EXPORT CUresult cuStreamCreate(void** stream, unsigned) {
  *stream = make_stream();
  return kSuccess;
}

DOUBLE_EXPORT CUresult cuStreamDestroy_v2(void* stream) {
  return destroy_stream(stream) ? kSuccess : kInvalidHandle;
}

DOUBLE_EXPORT CUresult cuStreamQuery(void* stream) {
  return as_result(query_stream(stream));
}

DOUBLE_EXPORT CUresult cuStreamSynchronize(void* stream) {
  return as_result(wait_for_stream(stream));
}

DOUBLE_EXPORT CUresult cuGetErrorString(CUresult result, const char** text) {
  switch (result) {
    case kSuccess:
      *text = "no error";
      break;
    case kInvalidValue:
      *text = "invalid argument";
      break;
    case kOutOfMemory:
      *text = "out of memory";
      break;
    case kNotInitialized:
      *text = "initialization error";
      break;
    case kNoDevice:
      *text = "no CUDA-capable device is detected";
      break;
    case kInvalidDevice:
      *text = "invalid device ordinal";
      break;
    case kInvalidHandle:
      *text = "invalid resource handle";
      break;
    case kNotReady:
      *text = "device not ready";
      break;
    case kLaunchFailed:
      *text = "unspecified launch failure";
      break;
    default:
      *text = nullptr;
      return kInvalidValue;
  }
  return kSuccess;
}

}  // extern "C"
