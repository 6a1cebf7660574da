// SPDX-License-Identifier: Apache-2.0
#include "lib/nccl/driver_library.h"
#include "lib/nccl/gpu.h"

#include "lib/base/text.h"

namespace distinit {

namespace {

constexpr int kNotReady = 600;  // hipErrorNotReady
// hipMemcpyKind
constexpr int kHostToDevice = 1;
constexpr int kDeviceToHost = 2;

struct Hip {
  int (*init)(unsigned) = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*set_device)(int) = nullptr;
  int (*device_bus_id)(char*, int, int) = nullptr;
  int (*allocate)(void**, size_t) = nullptr;
  int (*release)(void*) = nullptr;
  int (*copy)(void*, const void*, size_t, int) = nullptr;
  int (*stream_create)(void**) = nullptr;
  int (*stream_destroy)(void*) = nullptr;
  int (*stream_query)(void*) = nullptr;

  Status done(int code, std::string_view doing) const {
    if (code == 0) {
      return Ok{};
    }
    return driver_error("HIP", doing, code, error_string(code));
  }
};

Result<Hip> load_hip() {
  // The plain name comes with the development package only; the numbers are ROCm's major releases.
  DISTINIT_ASSIGN_OR_RETURN(const DriverLibrary library,
                            DriverLibrary::open({"libamdhip64.so", "libamdhip64.so.7",
                                                 "libamdhip64.so.6", "libamdhip64.so.5"}));
  Hip hip;
  DISTINIT_RETURN_IF_ERROR(library.find("hipInit", hip.init));
  DISTINIT_RETURN_IF_ERROR(library.find("hipGetErrorString", hip.error_string));
  DISTINIT_RETURN_IF_ERROR(library.find("hipGetDeviceCount", hip.device_count));
  DISTINIT_RETURN_IF_ERROR(library.find("hipSetDevice", hip.set_device));
  DISTINIT_RETURN_IF_ERROR(library.find("hipDeviceGetPCIBusId", hip.device_bus_id));
  DISTINIT_RETURN_IF_ERROR(library.find("hipMalloc", hip.allocate));
  DISTINIT_RETURN_IF_ERROR(library.find("hipFree", hip.release));
  DISTINIT_RETURN_IF_ERROR(library.find("hipMemcpy", hip.copy));
  DISTINIT_RETURN_IF_ERROR(library.find("hipStreamCreate", hip.stream_create));
  DISTINIT_RETURN_IF_ERROR(library.find("hipStreamDestroy", hip.stream_destroy));
  DISTINIT_RETURN_IF_ERROR(library.find("hipStreamQuery", hip.stream_query));
  return hip;
}

class HipGpu : public Gpu {
 public:
  HipGpu(const Hip& hip, std::string bus_id) : hip_(hip), bus_id_(std::move(bus_id)) {}

  std::string bus_id() const override { return bus_id_; }

  Result<void*> allocate(size_t bytes) override {
    void* memory = nullptr;
    DISTINIT_RETURN_IF_ERROR(
        hip_.done(hip_.allocate(&memory, bytes), concat("allocate ", bytes, " bytes on the GPU")));
    return memory;
  }
  void release(void* memory) override { hip_.release(memory); }

  Status copy_in(void* device, const void* host, size_t bytes) override {
    return hip_.done(hip_.copy(device, host, bytes, kHostToDevice), "copy to the GPU");
  }
  Status copy_out(void* host, const void* device, size_t bytes) override {
    return hip_.done(hip_.copy(host, device, bytes, kDeviceToHost), "copy from the GPU");
  }

  Result<GpuStream> make_stream() override {
    GpuStream stream = nullptr;
    DISTINIT_RETURN_IF_ERROR(hip_.done(hip_.stream_create(&stream), "make a stream"));
    return stream;
  }
  void end_stream(GpuStream stream) override { hip_.stream_destroy(stream); }

  Result<bool> is_idle(GpuStream stream) override {
    const int code = hip_.stream_query(stream);
    if (code == kNotReady) {
      return false;
    }
    DISTINIT_RETURN_IF_ERROR(hip_.done(code, "wait for a stream"));
    return true;
  }

 private:
  Hip hip_;
  std::string bus_id_;
};

}  // namespace

Result<std::unique_ptr<Gpu>> open_hip(int index) {
  DISTINIT_ASSIGN_OR_RETURN(const Hip hip, load_hip());
  DISTINIT_RETURN_IF_ERROR(hip.done(hip.init(0), "start the driver"));
  int count = 0;
  DISTINIT_RETURN_IF_ERROR(hip.done(hip.device_count(&count), "count the GPUs"));
  DISTINIT_RETURN_IF_ERROR(check_device_index("HIP", "HIP_VISIBLE_DEVICES", index, count));
  DISTINIT_RETURN_IF_ERROR(hip.done(hip.set_device(index), concat("use GPU ", index)));
  char bus_id[32] = {};
  DISTINIT_RETURN_IF_ERROR(hip.done(hip.device_bus_id(bus_id, sizeof bus_id, index),
                                    concat("tell the PCI address of GPU ", index)));
  return std::unique_ptr<Gpu>(std::make_unique<HipGpu>(hip, bus_id));
}

}  // namespace distinit
