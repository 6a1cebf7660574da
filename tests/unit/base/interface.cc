// SPDX-License-Identifier: Apache-2.0
#include "lib/base/interface.h"

#include "tests/unit/expect_text.h"

#include <criterion/criterion.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

using namespace distinit;

namespace {

std::string towards(std::string_view host) {
  return interface_towards(*SocketAddress::parse(host, 0));
}

}  // namespace

Test(interface, loopback_addresses_are_los) {
  EXPECT_TEXT(towards("127.0.0.1"), "lo");
  EXPECT_TEXT(towards("127.0.1.1"), "lo");
}

Test(interface, an_own_address_leads_to_the_interface_that_holds_it) {
  // The way to an own address is through lo, and still its own address is chosen.
  ifaddrs* list = nullptr;
  cr_assert(getifaddrs(&list) == 0);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) {
      continue;
    }
    sockaddr_storage storage{};
    memcpy(&storage, entry->ifa_addr, sizeof(sockaddr_in));
    EXPECT_TEXT(interface_towards(SocketAddress(storage)), entry->ifa_name);
  }
  freeifaddrs(list);
}

Test(interface, nothing_without_a_route) {
  // The kernel refuses a datagram to an address that is none (EINVAL, EACCES or ENETUNREACH).
  EXPECT_TEXT(towards("255.255.255.255"), "");
  EXPECT_TEXT(interface_towards(SocketAddress()), "");
}
