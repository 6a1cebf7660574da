// SPDX-License-Identifier: Apache-2.0
#include "spank/report.h"

#include "lib/base/text.h"

namespace distinit {

void report(SpankHost& host, const Error& error) {
  host.error(concat("distinit: ", error.what));
  if (!error.hint.empty()) {
    host.error(concat("distinit: hint: ", error.hint));
  }
}

}  // namespace distinit
