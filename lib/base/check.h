// SPDX-License-Identifier: Apache-2.0
#pragma once
// Broken invariants, as opposed to user mistakes: stays on in release builds, prints file and line,
// aborts. Forbidden in spank/, where the process belongs to somebody else.

namespace distinit {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace distinit

#define DISTINIT_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::distinit::check_failed(#condition, __FILE__, __LINE__))
