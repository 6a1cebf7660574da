// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/readers.h"
#include "tests/unit/scratch.h"

#include <filesystem>

#include <criterion/criterion.h>

namespace distinit {

// What it lists on a machine with devices is seen by tests/topo-live.
Test(verbs_devices, no_rdma_is_no_error) {
  if (std::filesystem::exists("/sys/class/infiniband_verbs")) {
    cr_skip_test("this kernel has RDMA");
  }
  const auto names = list_verbs_devices();
  cr_assert(names.has_value());
  cr_expect(names->empty());
}

}  // namespace distinit
