// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a stream handle of the CUDA and HIP doubles points to. The NCCL double knows this layout, so
// that a stream is busy while one of its collectives runs, without a call between the libraries,
// which may be loaded RTLD_LOCAL.

#include <atomic>
#include <cstdint>

inline constexpr uint64_t kDoubleStreamMagic = 0x64626c2d73747265;

struct DoubleStream {
  uint64_t magic = kDoubleStreamMagic;
  std::atomic<int> pending = 0;  // collectives begun and not finished
  std::atomic<int> failed = 0;   // collectives that ended with an error
};

// Null where the handle is not one of the doubles' streams (the default stream, for one).
inline DoubleStream* as_double_stream(void* handle) {
  auto* stream = static_cast<DoubleStream*>(handle);
  return stream != nullptr && stream->magic == kDoubleStreamMagic ? stream : nullptr;
}
