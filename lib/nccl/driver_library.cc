// SPDX-License-Identifier: Apache-2.0
#include "lib/nccl/driver_library.h"

#include "lib/base/text.h"

#include <dlfcn.h>

namespace distinit {

Result<DriverLibrary> DriverLibrary::open(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
      return DriverLibrary(handle, name);
    }
  }
  return Error{ErrorCode::kCommunicator, concat("no GPU driver, tried ", join(names, ", ")), {}, 0};
}

Result<void*> DriverLibrary::find_address(const char* name) const {
  void* address = dlsym(handle_, name);
  if (address == nullptr) {
    return Error{ErrorCode::kCommunicator, concat(name_, " has no ", std::string_view(name)),
                 "is it a stub or a very old driver?", 0};
  }
  return address;
}

Error driver_error(std::string_view driver, std::string_view doing, int code, const char* text) {
  return Error{ErrorCode::kCommunicator,
               concat(driver, " can't ", doing, ": ",
                      std::string_view(text == nullptr ? "unknown error" : text), " (", code, ")"),
               "see `nvidia-smi` or `rocm-smi` and the system log of that node", 0};
}

Status check_device_index(std::string_view driver, std::string_view variable, int index,
                          int count) {
  if (index < count) {
    return Ok{};
  }
  return Error{ErrorCode::kCommunicator,
               concat(driver, " has ", count, count == 1 ? " GPU" : " GPUs", ", no GPU ", index),
               concat("see ", variable, " and the GPUs that the step was given"), 0};
}

}  // namespace distinit
