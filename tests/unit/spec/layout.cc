// SPDX-License-Identifier: Apache-2.0
#include "lib/spec/layout.h"

#include <criterion/criterion.h>

using namespace distinit;

namespace {

std::string problem(const Layout& layout, int world_size) {
  const Status status = check_layout(layout, world_size);
  if (status) {
    return "";
  }
  cr_assert(status.error().code == ErrorCode::kLayout);
  cr_assert(!status.error().hint.empty());
  return status.error().what;
}

}  // namespace

Test(layout, accepts_each_rank_once) {
  cr_assert(problem({{{"n1", 0, {0, 3}}, {"n2", 1, {1, 2}}}}, 4) == "");
  cr_assert(problem({{{"n1", 0, {0}}, {"n2", 1, {}}}}, 1) == "");
}

Test(layout, names_the_rank_that_is_wrong_and_its_nodes) {
  cr_assert(problem({{{"n1", 0, {0, 1}}, {"n2", 1, {1, 2}}}}, 3) == "rank 1 is on both n1 and n2");
  cr_assert(problem({{{"n1", 0, {0, 0}}}}, 1) == "rank 0 is on n1 twice");
  cr_assert(problem({{{"n1", 0, {0}}, {"n2", 1, {2}}}}, 3) == "rank 1 of 3 is on no node");
  cr_assert(problem({{{"n1", 0, {0, 1}}, {"n2", 1, {2}}}}, 2) ==
            "rank 2 on n2 in a step of 2 ranks");
  cr_assert(problem({{{"n1", 0, {-1}}}}, 1) == "rank -1 on n1 in a step of 1 ranks");
  cr_assert(problem({}, 1) == "rank 0 of 1 is on no node");
}
