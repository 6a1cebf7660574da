// SPDX-License-Identifier: Apache-2.0
#include "lib/base/error.h"

#include <utility>

#include <string.h>

namespace distinit {

Error system_error(ErrorCode code, std::string what, int saved_errno, std::string hint) {
  char text[128];
  // The GNU strerror_r may return a static text instead of filling the buffer.
  what += ": ";
  what += strerror_r(saved_errno, text, sizeof text);
  return Error{code, std::move(what), std::move(hint), saved_errno};
}

Error with_context(Error error, std::string_view context) {
  error.what.insert(0, ": ");
  error.what.insert(0, context);
  return error;
}

std::string format_error(const Error& error) {
  if (error.hint.empty()) {
    return error.what;
  }
  return error.what + "\nhint: " + error.hint;
}

}  // namespace distinit
