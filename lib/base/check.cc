// SPDX-License-Identifier: Apache-2.0
#include "lib/base/check.h"

#include <stdio.h>
#include <stdlib.h>

namespace distinit {

void check_failed(const char* condition, const char* file, int line) {
  fprintf(stderr, "distinit: internal error: %s:%d: %s does not hold\n", file, line, condition);
  abort();
}

}  // namespace distinit
