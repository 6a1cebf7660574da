// SPDX-License-Identifier: Apache-2.0
#include "tests/double/device.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <thread>
#include <vector>

#include "tests/double/stream.h"

namespace nccl_double {
namespace {

// The physical numbers; as in the real library the first invalid entry of the list ends it.
std::vector<int> visible_devices(const char* visible) {
  const char* given = getenv("DOUBLE_CUDA_DEVICES");
  const int all = given != nullptr ? atoi(given) : 8;
  const char* list = getenv(visible);
  std::vector<int> devices;
  if (list == nullptr) {
    for (int device = 0; device < all; ++device) {
      devices.push_back(device);
    }
    return devices;
  }
  std::istringstream entries(list);
  for (std::string entry; std::getline(entries, entry, ',');) {
    char* end = nullptr;
    const long device = strtol(entry.c_str(), &end, 10);
    if (end == entry.c_str() || *end != '\0' || device < 0 || device >= all) {
      break;
    }
    devices.push_back(static_cast<int>(device));
  }
  return devices;
}

}  // namespace

int device_count(const char* visible) {
  return static_cast<int>(visible_devices(visible).size());
}

std::string device_bus_id(const char* visible, int device) {
  if (const char* given = getenv("DOUBLE_CUDA_BUS")) {
    return given;
  }
  const std::vector<int> devices = visible_devices(visible);
  char text[32];
  snprintf(text, sizeof text, "0000:%02x:00.0",
           static_cast<unsigned>(0x10 + devices.at(static_cast<size_t>(device))) & 0xffU);
  return text;
}

void set_current_device(const char* visible, int device) {
  if (device < 0) {
    unsetenv("DOUBLE_CUDA_CURRENT");
    unsetenv("DOUBLE_CUDA_CURRENT_BUS");
    return;
  }
  setenv("DOUBLE_CUDA_CURRENT", std::to_string(device).c_str(), 1);
  setenv("DOUBLE_CUDA_CURRENT_BUS", device_bus_id(visible, device).c_str(), 1);
}

void* make_stream() {
  return new DoubleStream;
}

bool destroy_stream(void* handle) {
  DoubleStream* stream = as_double_stream(handle);
  if (stream == nullptr) {
    return false;
  }
  // A collective that hangs still points to it: then it is left behind.
  if (stream->pending.load() == 0) {
    stream->magic = 0;
    delete stream;
  }
  return true;
}

StreamState query_stream(void* handle) {
  DoubleStream* stream = as_double_stream(handle);
  if (stream == nullptr) {
    return handle == nullptr ? StreamState::kIdle : StreamState::kUnknown;
  }
  if (stream->pending.load() > 0) {
    return StreamState::kBusy;
  }
  return stream->failed.load() > 0 ? StreamState::kFailed : StreamState::kIdle;
}

StreamState wait_for_stream(void* stream) {
  for (;;) {
    const StreamState state = query_stream(stream);
    if (state != StreamState::kBusy) {
      return state;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace nccl_double
