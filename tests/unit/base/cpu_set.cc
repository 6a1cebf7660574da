// SPDX-License-Identifier: Apache-2.0
#include "lib/base/cpu_set.h"

#include "tests/unit/expect_text.h"

#include <criterion/criterion.h>

#include <sched.h>
#include <unistd.h>

namespace distinit {

namespace {

CpuSet list(std::string_view text) {
  const auto set = CpuSet::parse_list(text);
  cr_assert(set.has_value());
  return *set;
}

}  // namespace

Test(cpu_set, reads_lists_and_writes_them_with_ranges_joined) {
  EXPECT_TEXT(list("8-87,0,1,2").format(), "0-2,8-87");
  EXPECT_TEXT(list("").format(), "");
  EXPECT_TEXT(list("5").format(), "5");
  EXPECT_TEXT(list("63-64,66").format(), "63-64,66");
  cr_expect(list("0-17,36-53").count() == 36);
}

Test(cpu_set, refuses_what_is_no_list) {
  for (const char* text : {"a", "1-", "-1", "3-1", "1,,2", "1 2", "65536", "0-99999", "1-2-3"}) {
    cr_expect(!CpuSet::parse_list(text), "%s", text);
  }
}

Test(cpu_set, reads_masks_most_significant_word_first) {
  EXPECT_TEXT(CpuSet::parse_mask("000000ff,ffff0000,00ffffff")->format(), "0-23,48-71");
  EXPECT_TEXT(CpuSet::parse_mask("0x000000ff,0xffffffff,0xffffffff")->format(), "0-71");
  EXPECT_TEXT(CpuSet::parse_mask("0")->format(), "");
  for (const char* text : {"", "xyz", "1,,1", "123456789", "0x", "-1"}) {
    cr_expect(!CpuSet::parse_mask(text), "%s", text);
  }
}

Test(cpu_set, has_set_algebra_that_ignores_size) {
  const CpuSet low = list("0-3");
  const CpuSet high = list("2-5,200");
  EXPECT_TEXT((low & high).format(), "2-3");
  EXPECT_TEXT((low | high).format(), "0-5,200");
  EXPECT_TEXT((low - high).format(), "0-1");
  EXPECT_TEXT((high - low).format(), "4-5,200");
  cr_expect(low.intersects(high) && !low.intersects(list("200")));
  cr_expect(list("200").is_subset_of(high) && !high.is_subset_of(low));
  CpuSet emptied = list("200");
  emptied.remove(200);
  cr_expect(emptied == CpuSet() && emptied.is_empty() && emptied.first() == -1);
}

Test(cpu_set, members_ascend) {
  cr_expect(list("130,1,64") == list("1,64,130"));
  cr_expect(list("130,1,64").members() == std::vector<int>({1, 64, 130}));
  cr_expect(list("130,64").first() == 64);
}

Test(cpu_set, ignores_numbers_outside_its_limits) {
  CpuSet set;
  set.add(-1);
  set.add(CpuSet::kMostCpus);
  cr_expect(set.is_empty() && !set.contains(-1) && !set.contains(CpuSet::kMostCpus));
}

Test(cpu_set, reads_the_mask_of_a_process) {
  const auto before = process_cpus(0);
  cr_assert(before && !before->is_empty());
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(before->first()), &one);
  cr_assert(sched_setaffinity(0, sizeof one, &one) == 0);
  const auto after = process_cpus(getpid());
  cr_assert(after.has_value());
  cr_expect(after->count() == 1 && after->first() == before->first());
  cr_expect(!process_cpus(INT32_MAX));
}

}  // namespace distinit
