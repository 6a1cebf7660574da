// SPDX-License-Identifier: Apache-2.0
#pragma once
// A GPU driver's library behind dlopen, and the errors that its two kinds share.

#include "lib/base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace distinit {

/// Stays loaded until the process ends.
class DriverLibrary {
 public:
  /// The first of `names` that the loader finds; kCommunicator naming them where there is none.
  static Result<DriverLibrary> open(const std::vector<std::string>& names);

  /// kCommunicator naming library and function where it has none.
  template <typename Function>
  Status find(const char* name, Function& function) const {
    DISTINIT_ASSIGN_OR_RETURN(void* address, find_address(name));
    function = reinterpret_cast<Function>(address);
    return Ok{};
  }

 private:
  DriverLibrary(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  Result<void*> find_address(const char* name) const;

  void* handle_;
  std::string name_;
};

/// "CUDA can't `doing`: `text` (code)"; `text` may be null.
Error driver_error(std::string_view driver, std::string_view doing, int code, const char* text);

/// kCommunicator where there are not more than `index` devices; `variable` hides devices.
Status check_device_index(std::string_view driver, std::string_view variable, int index, int count);

}  // namespace distinit
