// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/topology_loader.h"

#include "tests/unit/expect_text.h"
#include "tests/unit/scratch.h"

#include <fstream>
#include <optional>

#include <criterion/criterion.h>

using namespace distinit;

namespace {

constexpr milliseconds kLong{20'000};

/// Runs the loop until the loader has answered; the answers that came.
std::vector<Result<Discovery>> load(const std::string& file, milliseconds longest) {
  EventLoop loop = EventLoop::create().value();
  std::vector<Result<Discovery>> answers;
  TopologyLoader loader(loop, file, longest,
                        [&](Result<Discovery> answer) { answers.push_back(std::move(answer)); });
  cr_assert(loader.start().has_value());
  loop.run();
  return answers;
}

std::string write_machine() {
  const std::string path = scratch_root() + "/machine.xml";
  std::ofstream(path) << "<system version=\"1\"><cpu numaid=\"0\" affinity=\"f\">"
                         "<pci busid=\"0000:01:00.0\" class=\"0x030200\"/></cpu></system>";
  return path;
}

}  // namespace

Test(topology_loader, hands_over_a_files_machine_once) {
  const std::string path = write_machine();
  const auto answers = load(path, kLong);
  cr_assert_eq(answers.size(), 1u);
  cr_assert(answers[0].has_value());
  cr_assert_eq(answers[0]->machine.gpus.size(), 1u);
  EXPECT_TEXT(answers[0]->machine.cpus.format(), "0-3");
}

Test(topology_loader, hands_over_the_error) {
  const auto answers = load("/nowhere/machine.xml", kLong);
  cr_assert_eq(answers.size(), 1u);
  cr_assert_not(answers[0].has_value());
  cr_assert_eq(answers[0].error().code, ErrorCode::kTopology);
}

Test(topology_loader, reads_this_machine_beside_the_loop) {
  const auto answers = load("", kLong);
  cr_assert_eq(answers.size(), 1u);
  cr_assert(answers[0].has_value());
  cr_assert(process_cpus(0)->is_subset_of(answers[0]->machine.cpus));
}

Test(topology_loader, gives_up_at_the_deadline_and_hears_nothing_later) {
  const auto answers = load("", milliseconds(0));
  cr_assert_eq(answers.size(), 1u);
  cr_assert_not(answers[0].has_value());
  EXPECT_TEXT(answers[0].error().what, "its topology could not be read within 0 s");
}

Test(topology_loader, may_go_before_its_thread) {
  EventLoop loop = EventLoop::create().value();
  bool answered = false;
  {
    TopologyLoader loader(loop, "", kLong, [&](const Result<Discovery>&) { answered = true; });
    cr_assert(loader.start().has_value());
  }
  loop.run_once(milliseconds(200));
  cr_assert_not(answered);
}
