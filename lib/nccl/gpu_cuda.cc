// SPDX-License-Identifier: Apache-2.0
// The CUDA driver's interface rather than the runtime's: the driver's library is one and the same
// for every program of a node. Its primary context is the one that NCCL's runtime uses.

#include "lib/nccl/driver_library.h"
#include "lib/nccl/gpu.h"

#include "lib/base/text.h"

namespace distinit {

namespace {

using DevicePointer = unsigned long long;  // CUdeviceptr
constexpr int kNotReady = 600;             // CUDA_ERROR_NOT_READY
constexpr unsigned kNonBlocking = 1;       // CU_STREAM_NON_BLOCKING

struct Cuda {
  int (*init)(unsigned) = nullptr;
  int (*error_string)(int, const char**) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*device_bus_id)(char*, int, int) = nullptr;
  int (*context_retain)(void**, int) = nullptr;
  int (*context_release)(int) = nullptr;
  int (*context_set)(void*) = nullptr;
  int (*allocate)(DevicePointer*, size_t) = nullptr;
  int (*release)(DevicePointer) = nullptr;
  int (*copy_in)(DevicePointer, const void*, size_t) = nullptr;
  int (*copy_out)(void*, DevicePointer, size_t) = nullptr;
  int (*stream_create)(void**, unsigned) = nullptr;
  int (*stream_destroy)(void*) = nullptr;
  int (*stream_query)(void*) = nullptr;

  Status done(int code, std::string_view doing) const {
    if (code == 0) {
      return Ok{};
    }
    const char* text = nullptr;
    error_string(code, &text);
    return driver_error("CUDA", doing, code, text);
  }
};

DevicePointer address_of(const void* memory) {
  return reinterpret_cast<DevicePointer>(memory);
}

Result<Cuda> load_cuda() {
  DISTINIT_ASSIGN_OR_RETURN(const DriverLibrary library, DriverLibrary::open({"libcuda.so.1"}));
  Cuda cuda;
  DISTINIT_RETURN_IF_ERROR(library.find("cuInit", cuda.init));
  DISTINIT_RETURN_IF_ERROR(library.find("cuGetErrorString", cuda.error_string));
  DISTINIT_RETURN_IF_ERROR(library.find("cuDeviceGetCount", cuda.device_count));
  DISTINIT_RETURN_IF_ERROR(library.find("cuDeviceGet", cuda.device_get));
  DISTINIT_RETURN_IF_ERROR(library.find("cuDeviceGetPCIBusId", cuda.device_bus_id));
  DISTINIT_RETURN_IF_ERROR(library.find("cuDevicePrimaryCtxRetain", cuda.context_retain));
  DISTINIT_RETURN_IF_ERROR(library.find("cuDevicePrimaryCtxRelease_v2", cuda.context_release));
  DISTINIT_RETURN_IF_ERROR(library.find("cuCtxSetCurrent", cuda.context_set));
  DISTINIT_RETURN_IF_ERROR(library.find("cuMemAlloc_v2", cuda.allocate));
  DISTINIT_RETURN_IF_ERROR(library.find("cuMemFree_v2", cuda.release));
  DISTINIT_RETURN_IF_ERROR(library.find("cuMemcpyHtoD_v2", cuda.copy_in));
  DISTINIT_RETURN_IF_ERROR(library.find("cuMemcpyDtoH_v2", cuda.copy_out));
  DISTINIT_RETURN_IF_ERROR(library.find("cuStreamCreate", cuda.stream_create));
  DISTINIT_RETURN_IF_ERROR(library.find("cuStreamDestroy_v2", cuda.stream_destroy));
  DISTINIT_RETURN_IF_ERROR(library.find("cuStreamQuery", cuda.stream_query));
  return cuda;
}

class CudaGpu : public Gpu {
 public:
  CudaGpu(const Cuda& cuda, int device, std::string bus_id)
      : cuda_(cuda), device_(device), bus_id_(std::move(bus_id)) {}
  ~CudaGpu() override { cuda_.context_release(device_); }

  std::string bus_id() const override { return bus_id_; }

  Result<void*> allocate(size_t bytes) override {
    DevicePointer memory = 0;
    DISTINIT_RETURN_IF_ERROR(cuda_.done(cuda_.allocate(&memory, bytes),
                                        concat("allocate ", bytes, " bytes on the GPU")));
    return reinterpret_cast<void*>(memory);
  }
  void release(void* memory) override { cuda_.release(address_of(memory)); }

  Status copy_in(void* device, const void* host, size_t bytes) override {
    return cuda_.done(cuda_.copy_in(address_of(device), host, bytes), "copy to the GPU");
  }
  Status copy_out(void* host, const void* device, size_t bytes) override {
    return cuda_.done(cuda_.copy_out(host, address_of(device), bytes), "copy from the GPU");
  }

  Result<GpuStream> make_stream() override {
    GpuStream stream = nullptr;
    DISTINIT_RETURN_IF_ERROR(
        cuda_.done(cuda_.stream_create(&stream, kNonBlocking), "make a stream"));
    return stream;
  }
  void end_stream(GpuStream stream) override { cuda_.stream_destroy(stream); }

  Result<bool> is_idle(GpuStream stream) override {
    const int code = cuda_.stream_query(stream);
    if (code == kNotReady) {
      return false;
    }
    DISTINIT_RETURN_IF_ERROR(cuda_.done(code, "wait for a stream"));
    return true;
  }

 private:
  Cuda cuda_;
  int device_;
  std::string bus_id_;
};

}  // namespace

Result<std::unique_ptr<Gpu>> open_cuda(int index) {
  DISTINIT_ASSIGN_OR_RETURN(const Cuda cuda, load_cuda());
  DISTINIT_RETURN_IF_ERROR(cuda.done(cuda.init(0), "start the driver"));
  int count = 0;
  DISTINIT_RETURN_IF_ERROR(cuda.done(cuda.device_count(&count), "count the GPUs"));
  DISTINIT_RETURN_IF_ERROR(check_device_index("CUDA", "CUDA_VISIBLE_DEVICES", index, count));
  int device = 0;
  DISTINIT_RETURN_IF_ERROR(cuda.done(cuda.device_get(&device, index), concat("open GPU ", index)));
  char bus_id[32] = {};
  DISTINIT_RETURN_IF_ERROR(cuda.done(cuda.device_bus_id(bus_id, sizeof bus_id, device),
                                     concat("tell the PCI address of GPU ", index)));
  void* context = nullptr;
  DISTINIT_RETURN_IF_ERROR(
      cuda.done(cuda.context_retain(&context, device), concat("make a context on GPU ", index)));
  auto gpu = std::make_unique<CudaGpu>(cuda, device, bus_id);
  DISTINIT_RETURN_IF_ERROR(cuda.done(cuda.context_set(context), concat("use GPU ", index)));
  return std::unique_ptr<Gpu>(std::move(gpu));
}

}  // namespace distinit
