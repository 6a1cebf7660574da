// SPDX-License-Identifier: Apache-2.0
// Both ways in front of argv: launch_argv0.cc is linked, launch_prepend.cc is compiled in here
// under other names, against a fake of Slurm's call.
#include "spank/launch.h"

#include "tests/spank/fake_host.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define kLaunchesMultiProg kPrependLaunchesMultiProg
#define put_stage_in_front prepend_stage
namespace distinit {
extern const bool kPrependLaunchesMultiProg;
Result<std::string> prepend_stage(SpankHost& host, const std::string& stage_path);
}  // namespace distinit
#include "spank/launch_prepend.cc"
#undef kLaunchesMultiProg
#undef put_stage_in_front

namespace {

int fake_status = 0;
std::vector<std::string> fake_prepended;

}  // namespace

extern "C" int spank_prepend_task_argv(spank_handle*, int argc, const char* argv[]) {
  fake_prepended.assign(argv, argv + argc);
  return fake_status;
}

namespace distinit {

Test(launch, argv0_is_replaced_and_given_back) {
  char program[] = "./train";
  char argument[] = "--epochs=3";
  FakeHost host;
  host.argv = {program, argument, nullptr};
  const auto original = put_stage_in_front(host, "/proc/self/fd/700");
  cr_assert(original.has_value() && *original == "./train");
  cr_assert(std::string(host.argv[0]) == "/proc/self/fd/700");
  cr_assert(host.argv[1] == argument && host.argv[2] == nullptr);
  cr_assert(!kLaunchesMultiProg);
  free(host.argv[0]);
}

Test(launch, without_an_argv_it_is_an_error) {
  FakeHost host;
  cr_assert(!put_stage_in_front(host, "/proc/self/fd/700").has_value());
}

Test(launch, slurm_prepends_the_stage_and_keeps_the_program) {
  FakeHost host;
  const auto original = prepend_stage(host, "/proc/self/fd/700");
  cr_assert(original.has_value() && original->empty());
  cr_assert(fake_prepended.size() == 1 && fake_prepended[0] == "/proc/self/fd/700");
  cr_assert(kPrependLaunchesMultiProg);
}

Test(launch, a_refusal_of_slurm_is_an_error_with_its_number) {
  fake_status = 3002;
  FakeHost host;
  const auto original = prepend_stage(host, "/proc/self/fd/700");
  cr_assert(!original.has_value());
  cr_assert(original.error().what.find("3002") != std::string::npos);
}

}  // namespace distinit
