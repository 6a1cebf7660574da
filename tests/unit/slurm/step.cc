// SPDX-License-Identifier: Apache-2.0
#include "lib/slurm/step.h"

#include "lib/base/text.h"
#include "tests/unit/expect_text.h"

#include <fstream>

using namespace distinit;

namespace {

/// tests/data/slurm-env/NAME.env: lines NAME=value, and comments.
Environment recorded(const std::string& name) {
  std::ifstream file("tests/data/slurm-env/" + name + ".env");
  cr_assert(file.good(), "run from the repository root: no recorded environment %s", name.c_str());
  std::vector<std::string> entries;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with('#')) {
      entries.push_back(line);
    }
  }
  return Environment(entries);
}

std::string numbers(const std::vector<int>& values) {
  std::string out;
  for (const int value : values) {
    out += concat(out.empty() ? "" : ",", value);
  }
  return out;
}

/// All that matters about a task's view in one line.
std::string view(const Environment& environment) {
  const auto facts = read_step_facts(environment);
  if (!facts) {
    return "error: " + facts.error().what;
  }
  return concat(facts->job_id, ".", facts->step_id, ".", facts->restart_count, " rank ",
                facts->rank, "/", facts->world_size, " local ", facts->local_rank, " of ",
                numbers(facts->node_ranks), " node ", facts->group_rank, "/", facts->node_count,
                " ", facts->node_name, " of ", join(facts->nodes, ","), " with ",
                numbers(facts->tasks_per_node), facts->het ? " het" : "", " ", facts->distribution,
                " root ", root_node_index(*facts));
}

std::string with(const char* name, std::string_view variable, std::string_view value) {
  Environment environment = recorded(name);
  environment.set(variable, value);
  return view(environment);
}

std::string without(const char* name, std::string_view variable) {
  Environment environment = recorded(name);
  environment.unset(variable);
  return view(environment);
}

}  // namespace

Test(step, reads_recorded_steps) {
  const std::pair<const char*, const char*> rows[] = {
      {"block-allocating", "1.0.0 rank 3/4 local 1 of 2,3 node 1/2 n2 of n1,n2 with 2,2  root 0"},
      {"block-uneven", "2.0.0 rank 4/5 local 0 of 4 node 1/2 n2 of n1,n2 with 4,1 block root 0"},
      {"block-3-2", "2.0.1 rank 3/5 local 0 of 3,4 node 1/2 n2 of n1,n2 with 3,2 block root 0"},
      {"cyclic", "3.0.0 rank 3/4 local 1 of 1,3 node 1/2 n2 of n1,n2 with 2,2 cyclic root 0"},
      {"cyclic-uneven",
       "5.0.0 rank 3/4 local 2 of 0,2,3 node 0/2 n1 of n1,n2 with 3,1 cyclic root 0"},
      {"plane",
       "3.0.0 rank 9/12 local 6 of 0,1,5,6,7,8,9,10,11 node 0/4 n1 of n1,n2,n3,n4 with 9,1,1,1 "
       "plane root 0"},
      {"arbitrary-rank0",
       "6.0.0 rank 0/4 local 0 of 0,2 node 2/3 n3 of n1,n2,n3 with 1,1,2 arbitrary root 2"},
      {"arbitrary-rank1",
       "6.0.0 rank 1/4 local 0 of 1 node 0/3 n1 of n1,n2,n3 with 1,1,2 arbitrary root -1"},
      {"part-of-allocation",
       "4.0.0 rank 2/4 local 0 of 2,3 node 1/2 n3 of n2,n3 with 2,2 block root 0"},
      {"preserved", "5.0.0 rank 1/2 local 0 of 1 node 1/2 n2 of n1,n2 with 1,1 cyclic root 0"},
      {"het-rank0",
       "9.0.0 rank 0/3 local 0 of 0,1 node 0/2 n3 of n1,n3 with 1,2 het cyclic root 1"},
      {"het-rank2", "9.0.0 rank 2/3 local 0 of 2 node 1/2 n1 of n1,n3 with 1,2 het cyclic root -1"},
      {"het-one-component",
       "9.1.0 rank 0/1 local 0 of 0 node 0/1 n1 of n1 with 1 het cyclic root 0"},
      {"batch-step", "13.0.0 rank 3/4 local 0 of 3 node 1/2 n2 of n1,n2 with 3,1 block root 0"},
      {"one-task", "7.0.0 rank 0/1 local 0 of 0 node 0/1 n1 of n1 with 1  root 0"},
  };
  for (const auto& [name, expected] : rows) {
    cr_expect(is_step_task(recorded(name)), "%s", name);
    EXPECT_TEXT(view(recorded(name)), expected);
  }
}

Test(step, tells_steps_from_scripts_and_shells) {
  cr_expect(!is_step_task(recorded("batch")));
  cr_expect(!is_step_task(recorded("salloc")));
  cr_expect(recorded("batch").has("SLURM_PROCID"));
  EXPECT_TEXT(view(recorded("batch")), "error: SLURM_STEP_ID is not set");
  const auto facts = read_step_facts(Environment());
  cr_assert(!facts.has_value());
  cr_expect(facts.error().code == ErrorCode::kRendezvous);
  EXPECT_TEXT(facts.error().what, "SLURM_JOB_ID is not set");
}

Test(step, reads_reserved_ports) {
  const auto facts = read_step_facts(recorded("het-rank2"));
  cr_assert(facts.has_value());
  EXPECT_TEXT(numbers(facts->reserved_ports), "12032,12033,12034,12035,12036");
  Environment without_ports = recorded("one-task");
  without_ports.unset("SLURM_STEP_RESV_PORTS");
  const auto none = read_step_facts(without_ports);
  cr_assert(none.has_value());
  cr_expect(none->reserved_ports.empty());
  EXPECT_TEXT(with("one-task", "SLURM_STEP_RESV_PORTS", "http"),
              "error: SLURM_STEP_RESV_PORTS: ports 'http': not a port, nor a range LOW-HIGH of "
              "ports");
}

Test(step, prints_all_values_of_a_contradiction) {
  EXPECT_TEXT(with("cyclic", "SLURM_STEP_NUM_TASKS", "5"),
              "error: 2 nodes (SLURM_STEP_NODELIST=n[1-2], SLURM_STEP_NUM_NODES=2), 2 task counts "
              "with the sum 4 (SLURM_STEP_TASKS_PER_NODE=2(x2)) and SLURM_STEP_NUM_TASKS=5 "
              "contradict each other");
  EXPECT_TEXT(with("cyclic", "SLURM_STEP_TASKS_PER_NODE", "4"),
              "error: 2 nodes (SLURM_STEP_NODELIST=n[1-2], SLURM_STEP_NUM_NODES=2), 1 task counts "
              "with the sum 4 (SLURM_STEP_TASKS_PER_NODE=4) and SLURM_STEP_NUM_TASKS=4 contradict "
              "each other");
  EXPECT_TEXT(with("cyclic", "SLURM_STEP_NUM_NODES", "3"),
              "error: 2 nodes (SLURM_STEP_NODELIST=n[1-2], SLURM_STEP_NUM_NODES=3), 2 task counts "
              "with the sum 4 (SLURM_STEP_TASKS_PER_NODE=2(x2)) and SLURM_STEP_NUM_TASKS=4 "
              "contradict each other");
  EXPECT_TEXT(with("cyclic", "SLURMD_NODENAME", "n9"),
              "error: SLURMD_NODENAME=n9 is not a node of SLURM_STEP_NODELIST=n[1-2]");
  for (const char* gtids : {"1", "1,2", "1,2,3", "3,3", "0,1"}) {
    EXPECT_TEXT(with("cyclic", "SLURM_GTIDS", gtids),
                concat("error: SLURM_GTIDS=", gtids,
                       ", SLURM_PROCID=3, SLURM_LOCALID=1 and 2 tasks on n2 "
                       "(SLURM_STEP_TASKS_PER_NODE=2(x2)) contradict each other"));
  }
  EXPECT_TEXT(with("cyclic", "SLURM_GTIDS", "1,4"),
              "error: SLURM_GTIDS=1,4: '4' is not a rank of 4");
  EXPECT_TEXT(with("cyclic", "SLURM_NODEID", "2"),
              "error: SLURM_NODEID=2 is not a node of SLURM_STEP_NUM_NODES=2");
}

Test(step, names_what_it_cannot_read) {
  EXPECT_TEXT(with("cyclic", "SLURM_PROCID", "-1"),
              "error: SLURM_PROCID is '-1', not a number from 0");
  EXPECT_TEXT(with("cyclic", "SLURM_RESTART_COUNT", "x"),
              "error: SLURM_RESTART_COUNT is 'x', not a number from 0");
  EXPECT_TEXT(with("cyclic", "SLURM_STEP_NODELIST", "n[2-1]"),
              "error: SLURM_STEP_NODELIST: host list item 'n[2-1]': range '2-1' runs backwards");
  EXPECT_TEXT(with("cyclic", "SLURM_STEP_TASKS_PER_NODE", "2(x"),
              "error: SLURM_STEP_TASKS_PER_NODE: tasks per node '2(x': not a count, nor a count "
              "with (xTIMES)");
  EXPECT_TEXT(without("cyclic", "SLURM_LOCALID"), "error: SLURM_LOCALID is not set");
}

Test(step, falls_back_to_the_short_names) {
  Environment environment = recorded("cyclic");
  const std::string whole = view(environment);
  for (const char* name : {"SLURM_STEP_NUM_TASKS", "SLURM_STEP_NUM_NODES", "SLURM_STEP_NODELIST",
                           "SLURM_STEP_TASKS_PER_NODE", "SLURM_STEP_ID", "SLURM_JOB_ID"}) {
    environment.unset(name);
  }
  EXPECT_TEXT(view(environment), whole);
}

Test(step, derives_missing_node_ranks_only_where_they_follow) {
  for (const char* name : {"one-task", "block-3-2", "block-uneven", "arbitrary-rank1"}) {
    EXPECT_TEXT(without(name, "SLURM_GTIDS"), view(recorded(name)));
  }
  EXPECT_TEXT(without("cyclic", "SLURM_GTIDS"),
              "error: SLURM_GTIDS is not set, and the ranks on this node do not follow from "
              "SLURM_DISTRIBUTION=cyclic");
  EXPECT_TEXT(without("block-allocating", "SLURM_GTIDS"),
              "error: SLURM_GTIDS is not set, and the ranks on this node do not follow from "
              "SLURM_DISTRIBUTION=(not set)");
  EXPECT_TEXT(without("het-rank0", "SLURM_GTIDS"),
              "error: SLURM_GTIDS is not set, and the ranks on this node do not follow from "
              "SLURM_DISTRIBUTION=cyclic");
}

Test(step, recognises_a_het_step_by_its_node_numbers_alone) {
  Environment environment = recorded("het-rank2");
  environment.unset("SLURM_HET_SIZE");
  environment.unset("SLURM_PACK_SIZE");
  EXPECT_TEXT(view(environment),
              "9.0.0 rank 2/3 local 0 of 2 node 1/2 n1 of n1,n3 with 1,2 het cyclic root -1");
}

Test(step, does_not_take_a_set_of_one_component_for_a_het_step) {
  EXPECT_TEXT(with("cyclic", "SLURM_HET_SIZE", "1"), view(recorded("cyclic")));
  cr_expect(with("cyclic", "SLURM_HET_SIZE", "2").ends_with(" het cyclic root -1"));
  cr_expect(with("cyclic", "SLURM_HET_SIZE", "two").ends_with(" het cyclic root -1"));
}

Test(step, derives_the_root_only_where_ranks_follow_the_list) {
  const std::tuple<const char*, const char*, int> rows[] = {
      {"block", "node", 0},
      {"block:cyclic,nopack", "node", 0},
      {"cyclic:block", "node", 0},
      {"plane=2", "node", 0},
      {"", "node", 0},
      {"arbitrary", "node", -1},
      {"blocks", "node", -1},
      {"block", "", 0},
      {"", "", -1},
      {"block", "switch.switch.node", -1},
      {"", "switch.node", -1},
  };
  for (const auto& [distribution, pattern, expected] : rows) {
    Environment environment = recorded("cyclic");
    environment.set("SLURM_DISTRIBUTION", distribution);
    environment.set("SLURM_TOPOLOGY_ADDR_PATTERN", pattern);
    const auto facts = read_step_facts(environment);
    cr_assert(facts.has_value());
    cr_expect(root_node_index(*facts) == expected, "%s %s", distribution, pattern);
  }
}
