// SPDX-License-Identifier: Apache-2.0
#include "lib/slurm/counts.h"

#include "lib/base/text.h"
#include "tests/unit/expect_text.h"

using namespace distinit;

namespace {

std::string shown(const Result<std::vector<int>>& numbers) {
  if (!numbers) {
    return "error: " + numbers.error().what;
  }
  std::string out;
  for (const int number : *numbers) {
    out += concat(out.empty() ? "" : " ", number);
  }
  return out;
}

}  // namespace

Test(counts, expands_counts) {
  const std::pair<const char*, const char*> rows[] = {
      {"2(x3),1", "2 2 2 1"}, {"3(x2),2(x2)", "3 3 2 2"}, {"2,1,2", "2 1 2"}, {"4", "4"},
      {"1(x2),2", "1 1 2"},   {"16(x1)", "16"},
  };
  for (const auto& [text, expected] : rows) {
    EXPECT_TEXT(shown(expand_counts(text)), expected);
  }
}

Test(counts, names_the_entry_that_it_cannot_read) {
  for (const char* entry : {"", "0", "-1", "2(x0)", "2(x3", "2(x)", "2(3)", "(x2)", "2(x3)4", "2 ",
                            "a", "2(x-1)", "99999999999999999999", "2(x1048577)"}) {
    const auto counts = expand_counts(concat("3,", entry));
    cr_assert(!counts.has_value(), "%s", entry);
    cr_expect(counts.error().code == ErrorCode::kUsage);
    EXPECT_TEXT(counts.error().what,
                concat("tasks per node '", entry, "': not a count, nor a count with (xTIMES)"));
  }
  cr_expect(!expand_counts("").has_value());
}

Test(counts, keeps_its_limits) {
  const auto most = expand_counts("16(x1048576)");
  cr_assert(most.has_value());
  cr_expect(static_cast<long long>(most->size()) == kMostNodes);
  EXPECT_TEXT(shown(expand_counts("1,16(x1048576)")),
              "error: tasks per node '16(x1048576)': more than 16777216 tasks or 1048576 nodes");
  EXPECT_TEXT(shown(expand_counts("1(x1048576),1")),
              "error: tasks per node '1': more than 16777216 tasks or 1048576 nodes");
}

Test(counts, expands_ports) {
  EXPECT_TEXT(shown(expand_ports("32305-32306,32310")), "32305 32306 32310");
  EXPECT_TEXT(shown(expand_ports("32307")), "32307");
  EXPECT_TEXT(shown(expand_ports("12000-12000")), "12000");
}

Test(counts, names_the_ports_that_it_cannot_read) {
  for (const char* entry :
       {"", "0", "65536", "12001-12000", "12000-", "-12000", "[12000-12001]", "1-2-3", "http"}) {
    EXPECT_TEXT(shown(expand_ports(concat("12000,", entry))),
                concat("error: ports '", entry, "': not a port, nor a range LOW-HIGH of ports"));
  }
  EXPECT_TEXT(shown(expand_ports("1-65535,1")), "error: ports '1': more ports than there are");
}
