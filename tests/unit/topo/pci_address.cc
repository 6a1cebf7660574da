// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/pci_address.h"

#include "tests/unit/expect_text.h"

#include <criterion/criterion.h>

namespace distinit {

Test(pci_address, reads_what_it_writes) {
  for (const char* text : {"0000:4e:00.0", "0035:03:1f.7", "10000:e1:00.0", "ffff:ff:01.0"}) {
    const auto address = parse_pci_address(text);
    cr_assert(address, "%s", text);
    EXPECT_TEXT(format_pci_address(*address), text);
  }
}

Test(pci_address, takes_a_missing_domain_and_upper_case) {
  EXPECT_TEXT(format_pci_address(*parse_pci_address("4E:00.1")), "0000:4e:00.1");
  EXPECT_TEXT(format_pci_address(*parse_pci_address("00000000:C1:00.0")), "0000:c1:00.0");
}

Test(pci_address, refuses_anything_else) {
  for (const char* text :
       {"", "0000", "0000:4e:00", "0000:4e:00.", "0000:4e:00.00", "0000:4e:0x.0", "0000:100:00.0",
        "0:0:0:0.0", "0000:4e:00.0 ", "-1:4e:00.0", ":4e:00.0", "123456789:4e:00.0"}) {
    cr_expect(!parse_pci_address(text), "%s", text);
  }
}

Test(pci_address, is_ordered_by_domain_bus_device_function) {
  cr_expect(*parse_pci_address("0000:ff:00.0") < *parse_pci_address("0001:00:00.0"));
  cr_expect(*parse_pci_address("0000:4e:00.1") < *parse_pci_address("0000:4e:01.0"));
}

}  // namespace distinit
