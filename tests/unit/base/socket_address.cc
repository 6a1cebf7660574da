// SPDX-License-Identifier: Apache-2.0
#include "lib/base/socket_address.h"

#include <criterion/criterion.h>

using namespace distinit;

namespace {

std::string round_trip(const char* text) {
  const auto parsed = parse_address(text, 29500);
  return parsed ? format_endpoint(*parsed) : "error";
}

}  // namespace

Test(socket_address, formats_what_it_parsed) {
  cr_assert(round_trip("10.1.2.3") == "10.1.2.3:29500");
  cr_assert(round_trip("::1") == "[::1]:29500");
  cr_assert(round_trip("[2001:db8::7]") == "[2001:db8::7]:29500");
  cr_assert(round_trip("::ffff:10.1.2.3") == "10.1.2.3:29500");
  cr_assert(round_trip("fe80::1%lo") == "[fe80::1%lo]:29500");
}

Test(socket_address, refuses_what_is_not_numeric) {
  for (const char* text : {"", "localhost", "1.2.3", "[1.2.3.4]", "1.2.3.4%lo", "[]",
                           ":::", "fe80::1%no-such-interface", "1.2.3.4:80"}) {
    const auto parsed = parse_address(text, 1);
    cr_assert(!parsed.has_value(), "%s", text);
    cr_assert(parsed.error().code == ErrorCode::kUsage);
    cr_assert(parsed.error().what.find(text) != std::string::npos, "%s", text);
  }
}

Test(socket_address, knows_loopback) {
  cr_assert(is_loopback(*parse_address("127.9.8.7", 0)));
  cr_assert(is_loopback(*parse_address("::1", 0)));
  cr_assert(is_loopback(*parse_address("::ffff:127.0.0.1", 0)));
  cr_assert(!is_loopback(*parse_address("10.0.0.1", 0)));
  cr_assert(!is_loopback(*parse_address("::2", 0)));
}

Test(socket_address, names_no_address_of_another_family) {
  sockaddr_storage other{};
  other.ss_family = AF_UNIX;
  cr_assert(format_address(other) == "unknown");
  cr_assert(port_of(other) == 0);
  cr_assert(!is_loopback(other));
}
