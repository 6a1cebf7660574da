// SPDX-License-Identifier: Apache-2.0
#include "lib/base/host_address.h"

#include <criterion/criterion.h>

using namespace distinit;

Test(host_address, reads_numbers_only) {
  cr_assert_eq(SocketAddress::parse("10.0.0.7", 80)->text(), "10.0.0.7:80");
  cr_assert_eq(SocketAddress::parse("fd00::7", 80)->text(), "[fd00::7]:80");
  cr_assert_eq(SocketAddress::parse("::ffff:10.0.0.7", 80)->host(), "10.0.0.7");
  for (const char* bad : {"", "localhost", "10.0.0", "10.0.0.7.", "a::b::c"}) {
    cr_assert_not(SocketAddress::parse(bad, 80).has_value(), "'%s'", bad);
  }
}

Test(host_address, knows_its_kind) {
  cr_assert(SocketAddress::parse("127.0.1.1", 0)->is_loopback());
  cr_assert(SocketAddress::parse("::1", 0)->is_loopback());
  cr_assert_not(SocketAddress::parse("128.0.0.1", 0)->is_loopback());
  cr_assert(SocketAddress::parse("169.254.3.4", 0)->is_link_local());
  cr_assert(SocketAddress::parse("0.0.0.0", 0)->is_any());
  cr_assert(SocketAddress::parse("::", 0)->is_any());
  cr_assert_not(SocketAddress().valid());
}

Test(host_address, compares_by_address_and_port) {
  const SocketAddress address = *SocketAddress::parse("10.0.0.7", 80);
  cr_assert(address == *SocketAddress::parse("::ffff:10.0.0.7", 80));
  cr_assert(address != address.with_port(81));
  cr_assert_eq(SocketAddress::parse("fd00::7", 1)->with_port(65535).text(), "[fd00::7]:65535");
}

Test(host_address, own_addresses_are_those_the_kernel_binds) {
  cr_assert(is_own_address(*SocketAddress::parse("127.0.0.1", 80)));
  cr_assert_not(is_own_address(*SocketAddress::parse("192.0.2.77", 80)));
  cr_assert_not(is_own_address(*SocketAddress::parse("0.0.0.0", 80)));
}

Test(host_address, brackets_only_around_colons) {
  cr_assert_eq(format_host_port("10.0.0.7", 1), "10.0.0.7:1");
  cr_assert_eq(format_host_port("n1", 1), "n1:1");
  cr_assert_eq(format_host_port("fd00::7", 1), "[fd00::7]:1");
}
