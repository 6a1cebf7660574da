// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/placement.h"
#include "tests/unit/expect_text.h"

namespace distinit {

namespace {

constexpr GidType kV1 = GidType::kInfiniBandOrRoceV1;
constexpr GidType kV2 = GidType::kRoceV2;
constexpr const char* kLinkLocal = "fe80:0000:0000:0000:0e42:a1ff:fe12:3456";
constexpr const char* kIpv4 = "0000:0000:0000:0000:0000:ffff:0a00:0001";
constexpr const char* kIpv6 = "2001:0db8:0000:0000:0000:0000:0000:0001";

struct Entry {
  const char* text;
  GidType type;
};

/// The index that is chosen from a table of these; -1 for none.
int chosen(const std::vector<Entry>& table) {
  Hca hca;
  for (const Entry& entry : table) {
    hca.gids.push_back({static_cast<int>(hca.gids.size()), entry.text, entry.type, "eth0"});
  }
  const auto gid = routable_gid(hca);
  return gid ? gid->index : -1;
}

}  // namespace

Test(gid_choice, the_usual_table_gives_index_three) {
  cr_expect_eq(chosen({{kLinkLocal, kV1}, {kLinkLocal, kV2}, {kIpv4, kV1}, {kIpv4, kV2}}), 3);
}

Test(gid_choice, the_first_of_several_ipv4_v2_is_taken) {
  cr_expect_eq(
      chosen({{kLinkLocal, kV2}, {kIpv4, kV2}, {"0000:0000:0000:0000:0000:ffff:0a00:0002", kV2}}),
      1);
}

Test(gid_choice, ipv4_goes_before_a_newer_type) {
  cr_expect_eq(chosen({{kIpv6, kV2}, {kIpv4, kV1}}), 1);
  cr_expect_eq(chosen({{kIpv4, kV1}, {kIpv6, kV2}}), 0);
}

Test(gid_choice, a_global_ipv6_is_better_than_none) {
  cr_expect_eq(chosen({{kLinkLocal, kV1}, {kLinkLocal, kV2}, {kIpv6, kV1}, {kIpv6, kV2}}), 3);
  cr_expect_eq(chosen({{kIpv6, kV1}}), 0);
}

Test(gid_choice, link_local_and_zero_do_not_route) {
  cr_expect_eq(chosen({}), -1);
  cr_expect_eq(chosen({{kLinkLocal, kV1}, {kLinkLocal, kV2}}), -1);
  cr_expect_eq(chosen({{"0000:0000:0000:0000:0000:0000:0000:0000", kV2}}), -1);
  cr_expect_eq(chosen({{"", kV2}}), -1);
}

Test(gid_choice, the_entry_is_returned_whole) {
  Hca hca;
  hca.gids = {{7, kIpv4, kV2, "ens1f0np0"}};
  const auto gid = routable_gid(hca);
  cr_assert(gid.has_value());
  cr_expect_eq(gid->index, 7);
  EXPECT_TEXT(gid->text, kIpv4);
  EXPECT_TEXT(gid->interface, "ens1f0np0");
}

}  // namespace distinit
