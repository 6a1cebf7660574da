// SPDX-License-Identifier: Apache-2.0
#include "lib/rendezvous/address_choice.h"

#include <criterion/criterion.h>
#include <unistd.h>

using namespace distinit;

namespace {

std::map<int, Join> joined_by(const std::vector<std::string>& reached) {
  std::map<int, Join> joined;
  for (const std::string& host : reached) {
    Join join;
    join.group_rank = static_cast<int>(joined.size());
    join.reached = host;
    joined.emplace(join.group_rank, join);
  }
  return joined;
}

}  // namespace

Test(address_choice, most_used_first_and_the_root_itself_does_not_count) {
  const auto joined = joined_by({"", "10.0.0.2", "10.0.0.1", "10.0.0.2"});
  const auto hosts = reached_addresses(joined);
  cr_assert(hosts.size() == 2);
  cr_expect(hosts[0] == "10.0.0.2");
  cr_expect(hosts[1] == "10.0.0.1");
  cr_expect(!is_reached_by_all(joined, "10.0.0.2"));
  cr_expect(is_reached_by_all(joined_by({"", "10.0.0.2"}), "10.0.0.2"));
  cr_expect(reached_addresses(joined_by({""})).empty());
}

Test(address_choice, knows_the_names_of_this_host) {
  char own[256] = {};
  cr_assert(gethostname(own, sizeof own - 1) == 0);
  cr_expect(is_name_of_this_host(own, "n1"));
  cr_expect(is_name_of_this_host("n1", "n1"));
  cr_expect(is_name_of_this_host("n1.cluster.example", "n1"));
  cr_expect(is_name_of_this_host("n1", "n1.cluster.example"));
  cr_expect(!is_name_of_this_host("n10", "n1"));
  cr_expect(!is_name_of_this_host("localhost.example", "n1"));
  cr_expect(!is_name_of_this_host("", "n1"));
  // The first label of an address is none.
  cr_expect(!is_name_of_this_host("10.20.0.1", "10.20.0.9"));
}

Test(address_choice, loopback_is_the_address_of_lo) {
  cr_expect(interface_address("lo") == "127.0.0.1");
  cr_expect(interface_address("no-such-interface").empty());
}
