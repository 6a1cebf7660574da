// SPDX-License-Identifier: Apache-2.0
#pragma once
// The few things that the check asks of a GPU, by the CUDA driver (libcuda.so.1) or HIP. Loads the
// driver into this process: never in a process that will exec.

#include "lib/base/result.h"
#include "lib/nccl/api.h"

#include <memory>
#include <string>

#include <stddef.h>

namespace distinit {

/// One device, current in the thread that opened it. All calls from that thread; errors are
/// kCommunicator with the driver's own words.
class Gpu {
 public:
  virtual ~Gpu() = default;

  /// Its PCI address, "0000:18:00.0".
  virtual std::string bus_id() const = 0;
  /// Device memory; freed with release, or with the process.
  virtual Result<void*> allocate(size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  virtual Status copy_in(void* device, const void* host, size_t bytes) = 0;
  virtual Status copy_out(void* host, const void* device, size_t bytes) = 0;
  virtual Result<GpuStream> make_stream() = 0;
  virtual void end_stream(GpuStream stream) = 0;
  /// True when all that was put on the stream is done.
  virtual Result<bool> is_idle(GpuStream stream) = 0;
};

/// Device `index` as the program counts them. kCommunicator where there is no driver, no device, or
/// fewer devices.
Result<std::unique_ptr<Gpu>> open_cuda(int index);
Result<std::unique_ptr<Gpu>> open_hip(int index);

}  // namespace distinit
