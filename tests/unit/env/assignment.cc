// SPDX-License-Identifier: Apache-2.0
#include "lib/env/assignment.h"

#include "lib/base/text.h"
#include "lib/env/distinit_family.h"
#include "lib/env/torch.h"
#include "lib/spec/protocol.h"
#include "tests/unit/env/sample.h"
#include "tests/unit/expect_text.h"

#include <algorithm>

using namespace distinit;

namespace {

const std::vector<Assignment> kThree = {
    {"RANK", "3", AssignmentKind::kIdentity},
    {"MASTER_PORT", "23001", AssignmentKind::kEndpoint},
    {"OMP_NUM_THREADS", "1", AssignmentKind::kDefault},
};

std::vector<Assignment> both_families(const Sample& sample) {
  std::vector<Assignment> all = torch_family(sample.context);
  for (Assignment& assignment : distinit_family(sample.context)) {
    all.push_back(std::move(assignment));
  }
  return all;
}

/// The program's environment after the stage has done what it is told.
Environment after(Environment environment, const AppliedEnvironment& applied) {
  for (const std::string& name : applied.unset) {
    environment.unset(name);
  }
  const Environment set(applied.set);
  for (const auto& [name, value] : set.values()) {
    environment.set(name, value);
  }
  return environment;
}

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

Test(assignment, sets_what_is_not_there) {
  const auto applied = apply_assignments(kThree, Environment());
  cr_assert(applied.set.size() == 4);
  EXPECT_TEXT(applied.set[0], "RANK=3");
  EXPECT_TEXT(applied.set[1], "MASTER_PORT=23001");
  EXPECT_TEXT(applied.set[2], "OMP_NUM_THREADS=1");
  // Known FNV-1a values of "3", "23001" and "1".
  EXPECT_TEXT(applied.set[3],
              "DISTINIT_EXPORTED=RANK:360caa42,MASTER_PORT:718f79c9,OMP_NUM_THREADS:340ca71c");
  cr_expect(applied.findings.empty());
  EXPECT_TEXT(join(applied.ours, " "), "RANK=3 MASTER_PORT=23001 OMP_NUM_THREADS=1");
  cr_expect(applied.kept.empty());
}

Test(assignment, an_endpoint_that_the_user_asked_for_is_told_as_kept) {
  const auto applied =
      apply_assignments(kThree, Environment({"MASTER_PORT=23001", "OMP_NUM_THREADS=1"}));
  EXPECT_TEXT(join(applied.ours, " "), "RANK=3");
  EXPECT_TEXT(join(applied.kept, " "), "MASTER_PORT=23001 OMP_NUM_THREADS=1");
  const auto replaced = apply_assignments(kThree, Environment({"MASTER_PORT=23002"}));
  EXPECT_TEXT(join(replaced.ours, " "), "RANK=3 MASTER_PORT=23001 OMP_NUM_THREADS=1");
}

Test(assignment, lets_the_users_defaults_win_and_replaces_identities) {
  const Environment users(
      std::vector<std::string>{"RANK=0", "MASTER_PORT=29500", "OMP_NUM_THREADS=4", "PATH=/bin"});
  const auto applied = apply_assignments(kThree, users);
  const Environment program = after(users, applied);
  EXPECT_TEXT(*program.get("RANK"), "3");
  EXPECT_TEXT(*program.get("MASTER_PORT"), "23001");
  EXPECT_TEXT(*program.get("OMP_NUM_THREADS"), "4");
  EXPECT_TEXT(*program.get("PATH"), "/bin");
  cr_assert(applied.findings.size() == 1);
  EXPECT_TEXT(applied.findings[0].what, "RANK=0 was set before the step and is 3 here");
  EXPECT_TEXT(applied.findings[0].hint, "unset RANK before srun: no one value fits every rank");
  EXPECT_TEXT(join(applied.ours, " "), "RANK=3 MASTER_PORT=23001");
  EXPECT_TEXT(join(applied.kept, " "), "OMP_NUM_THREADS=4");
}

Test(assignment, is_silent_where_the_user_says_the_same) {
  const auto applied = apply_assignments(kThree, Environment(std::vector<std::string>{"RANK=3"}));
  cr_expect(applied.findings.empty());
}

Test(assignment, takes_away_what_must_not_be_set) {
  const std::vector<Assignment> absent = {
      {"TORCHELASTIC_USE_AGENT_STORE", "", AssignmentKind::kAbsent}};
  const Environment users(std::vector<std::string>{"TORCHELASTIC_USE_AGENT_STORE=True"});
  const auto applied = apply_assignments(absent, users);
  cr_expect(!after(users, applied).has("TORCHELASTIC_USE_AGENT_STORE"));
  cr_assert(applied.findings.size() == 1);
  EXPECT_TEXT(applied.findings[0].what,
              "TORCHELASTIC_USE_AGENT_STORE=True was set before the step and is not set here");
  const auto quiet = apply_assignments(absent, Environment());
  cr_expect(quiet.findings.empty());
  cr_expect(contains(quiet.unset, "TORCHELASTIC_USE_AGENT_STORE"));
}

Test(assignment, replaces_what_an_outer_step_has_set) {
  const Sample outer;
  const Environment script(std::vector<std::string>{"OMP_NUM_THREADS=4", "DISTINIT_LOG=info"});
  Environment task = after(script, apply_assignments(both_families(outer), script));
  cr_expect(is_inherited(task, "RANK"));
  cr_expect(!is_inherited(task, "OMP_NUM_THREADS"));

  Sample inner("pp4,torch.store=rank0", 4, 1);
  inner.context.step_id = "1";
  inner.context.local_world_size = 1;
  inner.context.master_port = 23009;
  const auto applied = apply_assignments(both_families(inner), task);
  cr_expect(applied.findings.empty(), "%zu", applied.findings.size());
  const Environment program = after(task, applied);
  EXPECT_TEXT(*program.get("RANK"), "1");
  EXPECT_TEXT(*program.get("MASTER_PORT"), "23009");
  EXPECT_TEXT(*program.get("DISTINIT_STEP"), "4242.1.0");
  EXPECT_TEXT(*program.get("DISTINIT_PP_RANKS"), "0,1,2,3");
  for (const char* name :
       {"DISTINIT_TP_RANKS", "DISTINIT_DP_GROUPS", "TORCHELASTIC_USE_AGENT_STORE"}) {
    cr_expect(!program.has(name), "%s", name);
  }
  EXPECT_TEXT(*program.get("OMP_NUM_THREADS"), "4");
  EXPECT_TEXT(*program.get("DISTINIT_LOG"), "info");
}

Test(assignment, takes_a_value_changed_since_for_the_users) {
  const Environment none;
  Environment task = after(none, apply_assignments(kThree, none));
  task.set("RANK", "7");
  task.set("OMP_NUM_THREADS", "8");
  const auto applied = apply_assignments(kThree, task);
  cr_assert(applied.findings.size() == 1);
  EXPECT_TEXT(applied.findings[0].what, "RANK=7 was set before the step and is 3 here");
  EXPECT_TEXT(*after(task, applied).get("OMP_NUM_THREADS"), "8");
}

Test(assignment, unsets_an_inherited_default_that_no_longer_applies) {
  const Environment none;
  const Environment task = after(none, apply_assignments(kThree, none));
  const auto applied = apply_assignments({kThree[0]}, task);
  cr_expect(!after(task, applied).has("OMP_NUM_THREADS"));
}

Test(assignment, keeps_private_variables_from_the_program_and_leaves_pmi_alone) {
  Environment task(std::vector<std::string>{"PMI_RANK=3", "PMIX_NAMESPACE=x", "SLURM_PROCID=3"});
  const std::string_view secrets[] = {kDefaultSpecVariable, kSpecVariable,     kSecretVariable,
                                      kStepVariable,        kRootNodeVariable, kRootAddressVariable,
                                      kStartTimeVariable,   kCpuBindVariable,  kOptionVariable};
  for (const std::string_view name : secrets) {
    task.set(name, "x");
  }
  task.set("DISTINIT_SAVED_LD_PRELOAD", "x");
  const Environment program = after(task, apply_assignments(kThree, task));
  for (const auto& [name, value] : program.values()) {
    cr_expect(!is_private_variable(name), "%s", name.c_str());
  }
  cr_expect(program.has("PMI_RANK") && program.has("PMIX_NAMESPACE") &&
            program.has("SLURM_PROCID"));
  // Also where the task has none yet: a prolog or a container may bring them.
  const auto applied = apply_assignments(kThree, Environment());
  for (const std::string_view name : secrets) {
    cr_expect(contains(applied.unset, name), "%.*s", static_cast<int>(name.size()), name.data());
  }
}

Test(assignment, bounds_the_list_of_what_it_set) {
  std::vector<Assignment> many = kThree;
  for (int i = 0; i < 5000; ++i) {
    many.push_back({concat("DISTINIT_SOMETHING_", i), "0", AssignmentKind::kEndpoint});
  }
  const auto applied = apply_assignments(many, Environment());
  cr_expect(applied.set.size() == many.size() + 1);
  const Environment program(applied.set);
  cr_expect(program.get("DISTINIT_EXPORTED")->size() <= kLongestExported);
  cr_expect(is_inherited(program, "RANK"));
  cr_expect(is_inherited(program, "DISTINIT_SOMETHING_1000"));
}

Test(assignment, reads_the_users_endpoint) {
  const auto set =
      user_endpoint(Environment(std::vector<std::string>{"MASTER_ADDR=n1", "MASTER_PORT=29500"}));
  cr_expect(set.addr == "n1");
  cr_expect(set.port == 29500);
  for (const char* port : {"", "0", "65536", "http", "-1"}) {
    const auto odd = user_endpoint(
        Environment(std::vector<std::string>{"MASTER_ADDR=", concat("MASTER_PORT=", port)}));
    cr_expect(!odd.addr && !odd.port, "%s", port);
  }
  cr_expect(!user_endpoint(Environment()).addr);
}

Test(assignment, does_not_take_an_outer_endpoint_for_the_users) {
  const Sample outer;
  const Environment none;
  Environment task = after(none, apply_assignments(both_families(outer), none));
  const auto inherited = user_endpoint(task);
  cr_expect(!inherited.addr && !inherited.port);
  task.set("MASTER_PORT", "29500");
  const auto changed = user_endpoint(task);
  cr_expect(!changed.addr);
  cr_expect(changed.port == 29500);
}
