// SPDX-License-Identifier: Apache-2.0
#include "lib/rendezvous/ports.h"

#include <algorithm>
#include <set>

#include <criterion/criterion.h>

using namespace distinit;

namespace {

StepFacts make_facts(const std::string& job, const std::string& step, int restart = 0) {
  StepFacts facts;
  facts.job_id = job;
  facts.step_id = step;
  facts.restart_count = restart;
  return facts;
}

}  // namespace

Test(ports, sequence_is_eight_different_ports_below_the_ephemeral_range) {
  for (int job = 1; job < 500; ++job) {
    const auto ports = port_sequence(make_facts(std::to_string(job), "0"), Options{});
    cr_assert_eq(ports.size(), 8u);
    cr_assert_eq(std::set<int>(ports.begin(), ports.end()).size(), 8u);
    for (const int port : ports) {
      cr_assert(port >= 20000 && port <= 31999, "port %d", port);
      cr_assert(port != 29500 && port != 29400 && port != 23456 && port != 28028);
    }
  }
}

Test(ports, sequence_depends_on_job_step_and_restart_alone) {
  const auto ports = port_sequence(make_facts("4242", "0"), Options{});
  cr_assert(ports == port_sequence(make_facts("4242", "0"), Options{}));
  cr_assert(ports != port_sequence(make_facts("4242", "1"), Options{}));
  cr_assert(ports != port_sequence(make_facts("4243", "0"), Options{}));
  cr_assert(ports != port_sequence(make_facts("4242", "0", 1), Options{}));
  // "42"+"420" and "424"+"20" are different steps.
  cr_assert(port_sequence(make_facts("42", "420"), Options{}) !=
            port_sequence(make_facts("424", "20"), Options{}));
}

Test(ports, steps_of_one_job_seldom_begin_with_one_port) {
  std::set<int> first;
  for (int step = 0; step < 200; ++step) {
    first.insert(port_sequence(make_facts("77", std::to_string(step)), Options{}).front());
  }
  cr_assert_geq(first.size(), 195u);
}

Test(ports, range_is_the_sites) {
  Options options;
  options.port_low = 12000;
  options.port_high = 12003;
  auto ports = port_sequence(make_facts("1", "0"), options);
  std::sort(ports.begin(), ports.end());
  cr_assert(ports == (std::vector<int>{12000, 12001, 12002, 12003}));
}

Test(ports, fixed_port_is_the_only_candidate) {
  auto facts = make_facts("1", "0");
  facts.reserved_ports = {12000, 12001};
  cr_assert(port_candidates(facts, Options{}, 4711) == std::vector<int>{4711});
}

Test(ports, reserved_ports_come_first_and_no_port_twice) {
  auto facts = make_facts("1", "0");
  const int first = port_sequence(facts, Options{}).front();
  facts.reserved_ports = {12000, first, 12000};
  const auto ports = port_candidates(facts, Options{}, std::nullopt);
  cr_assert_eq(ports[0], 12000);
  cr_assert_eq(ports[1], first);
  cr_assert_eq(ports.size(), 9u);
  cr_assert_eq(std::set<int>(ports.begin(), ports.end()).size(), 9u);
}
