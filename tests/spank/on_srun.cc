// SPDX-License-Identifier: Apache-2.0
#include "lib/spec/protocol.h"
#include "spank/contexts.h"
#include "spank/options.h"
#include "tests/spank/fake_host.h"

#include <criterion/criterion.h>

namespace distinit {

namespace {

FakeHost step_of(uint32_t tasks) {
  FakeHost host;
  host.items = {{HostItem::kJobId, 42}, {HostItem::kStepId, 3}, {HostItem::kTotalTasks, tasks}};
  host.variables.set("SLURM_JOB_ID", "42");
  return host;
}

/// Everything srun calls, in its order; the first status that is not 0.
int run_srun(FakeHost& host, PluginState& state, const char* option, int components = 1) {
  int status = on_option(host, state, option);
  for (int i = 0; status == 0 && i < components; ++i) {
    status = srun_options_known(host, state);
  }
  return status == 0 ? srun_step_known(host, state) : status;
}

std::string value(const FakeHost& host, std::string_view name) {
  return host.variables.get_or(name, "(unset)");
}

}  // namespace

Test(on_srun, without_the_option_nothing_happens) {
  FakeHost host = step_of(4);
  host.variables.set(kDefaultSpecVariable, "tp2,tp2");
  host.variables.set(kSecretVariable, "outer");
  host.options = {"srun", "--multi-prog"};
  const auto before = host.variables.values();
  PluginState state;
  state.plugstack.error = Error{ErrorCode::kUsage, "broken", "", 0};
  cr_assert(srun_options_known(host, state) == 0);
  cr_assert(srun_step_known(host, state) == 0);
  cr_assert(host.variables.values() == before);
  cr_assert(host.errors.empty() && host.infos.empty());
}

Test(on_srun, sets_the_variables_of_the_step) {
  FakeHost host = step_of(4);
  PluginState state;
  cr_assert(run_srun(host, state, "tp2,dp") == 0);
  cr_assert(value(host, kSpecVariable) == format_spec(*parse_spec("tp2,dp")));
  cr_assert(value(host, kStepVariable) == "42.3");
  cr_assert(value(host, kCpuBindVariable) == "(unset)");
  cr_assert(value(host, kSecretVariable).size() == 64);
  cr_assert(value(host, kSecretVariable).find_first_not_of("0123456789abcdef") ==
            std::string::npos);
  cr_assert(value(host, kStartTimeVariable).size() == 19);
  cr_assert(host.errors.empty() && host.infos.empty());
}

Test(on_srun, the_sites_options_travel_in_the_spec) {
  FakeHost host = step_of(4);
  PluginState state;
  state.plugstack.defaults = *parse_spec("nccl.IB_SL=3,hca.skip=mlx5_bond_0,timeout=9");
  cr_assert(run_srun(host, state, "tp2,dp,nccl.IB_SL=5") == 0);
  cr_assert(*parse_spec(value(host, kSpecVariable)) ==
            *parse_spec("tp2,dp,nccl.IB_SL=5,hca.skip=mlx5_bond_0,timeout=9"));
}

Test(on_srun, every_step_has_its_own_secret) {
  FakeHost first = step_of(2);
  FakeHost second = step_of(2);
  PluginState one;
  PluginState two;
  cr_assert(run_srun(first, one, nullptr) == 0 && run_srun(second, two, nullptr) == 0);
  cr_assert(value(first, kSecretVariable) != value(second, kSecretVariable));
}

Test(on_srun, what_an_outer_step_left_is_overwritten_or_removed) {
  FakeHost host = step_of(2);
  for (const std::string_view name :
       {kSpecVariable, kSecretVariable, kStepVariable, kRootNodeVariable, kRootAddressVariable,
        kStartTimeVariable, kCpuBindVariable}) {
    host.variables.set(name, "outer");
  }
  PluginState state;
  cr_assert(run_srun(host, state, "dp2") == 0);
  // No libslurm in this process: where rank 0 is can't be told.
  cr_assert(value(host, kRootNodeVariable) == "(unset)");
  cr_assert(value(host, kRootAddressVariable) == "(unset)");
  cr_assert(value(host, kCpuBindVariable) == "(unset)");
  for (const auto& [name, content] : host.variables.values()) {
    cr_assert(content != "outer", "%s", name.c_str());
  }
}

Test(on_srun, a_spec_that_does_not_fit_ends_srun_before_the_launch) {
  FakeHost host = step_of(3);
  host.variables.unset("SLURM_JOB_ID");
  PluginState state;
  cr_assert(run_srun(host, state, "tp2,dp2") == -1);
  cr_assert(host.errors.size() == 2);
  cr_assert(host.errors[0].starts_with("distinit: "));
  cr_assert(host.errors[0].find("tp2,dp2") != std::string::npos);
  cr_assert(host.errors[0].find('3') != std::string::npos);
  cr_assert(value(host, kStepVariable) == "(unset)");
}

Test(on_srun, in_an_allocation_the_agents_refuse_a_spec_that_does_not_fit) {
  // srun's failure would leave the step behind, holding its CPUs until the job ends.
  FakeHost host = step_of(3);
  PluginState state;
  cr_assert(run_srun(host, state, "tp2,dp2") == 0);
  cr_assert(host.errors.empty());
  cr_assert(value(host, kStepVariable) == "42.3");
  FakeHost other = step_of(3);
  other.variables.unset("SLURM_JOB_ID");
  other.options = {"srun", "--jobid=42"};
  PluginState attached;
  cr_assert(run_srun(other, attached, "tp2,dp2") == 0);
}

Test(on_srun, a_wrong_default_ends_srun_before_it_asks_for_an_allocation) {
  FakeHost host = step_of(4);
  host.variables.set(kDefaultSpecVariable, "tp2,tp2");
  PluginState state;
  cr_assert(on_option(host, state, nullptr) == 0);
  cr_assert(srun_options_known(host, state) == -1);
  cr_assert(host.errors[0].starts_with("distinit: SLURM_DISTINIT: "));
}

Test(on_srun, a_wrong_plugstack_argument_ends_srun) {
  FakeHost host = step_of(4);
  PluginState state;
  state.plugstack.error =
      Error{ErrorCode::kUsage, "plugstack.conf: unknown argument 'helprr=/h'", "did you mean?", 0};
  cr_assert(run_srun(host, state, "tp2,dp2") == -1);
  cr_assert(host.errors[0] == "distinit: plugstack.conf: unknown argument 'helprr=/h'");
  cr_assert(host.errors.size() == 2);
}

Test(on_srun, the_tasks_of_a_het_step_are_not_taken_for_its_world_size) {
  FakeHost host = step_of(1);
  host.items[HostItem::kJobId] = 43;
  PluginState state;
  cr_assert(run_srun(host, state, "tp2,dp2", 2) == 0);
  cr_assert(value(host, kStepVariable) == "42.3", "the leader's job");
}

Test(on_srun, later_components_get_the_secret_before_the_step_is_known) {
  FakeHost host = step_of(1);
  PluginState state;
  cr_assert(on_option(host, state, "tp2,dp2") == 0);
  cr_assert(srun_options_known(host, state) == 0);
  const std::string secret = value(host, kSecretVariable);
  cr_assert(secret.size() == 64);
  cr_assert(value(host, kSpecVariable) == format_spec(*parse_spec("tp2,dp2")));
  cr_assert(srun_options_known(host, state) == 0);
  cr_assert(srun_step_known(host, state) == 0);
  cr_assert(value(host, kSecretVariable) == secret);
}

Test(on_srun, multi_prog_is_refused_in_all_its_spellings) {
  for (const char* word : {"--multi-prog", "--multi", "--mu"}) {
    FakeHost host = step_of(2);
    host.options = {"srun", "-n2", word};
    PluginState state;
    cr_assert(run_srun(host, state, "dp2") == -1, "%s", word);
    cr_assert(host.errors[0].find("--multi-prog") != std::string::npos);
  }
  FakeHost host = step_of(2);
  host.variables.set("SLURM_MULTI_PROG", "");
  PluginState state;
  cr_assert(run_srun(host, state, "dp2") == -1);
}

Test(on_srun, tells_the_nodes_that_the_user_binds_cpus) {
  const std::vector<std::string> users[] = {
      {"srun", "--cpu-bind=cores"},
      {"srun", "--cpu_bind=none"},
      {"srun", "--cpu-bind", "none"},
      {"srun", "--cpu-b=threads"},
      {"srun", "--cpu_=rank"},
      {"srun", "--cpu-bind=v,ldoms"},
      {"srun", "--cpu-bind", "map_cpu:0,1"},
      {"srun", "-n2", "--cpu-bind=quiet,mask_cpu:0x3"},
  };
  for (const auto& options : users) {
    FakeHost host = step_of(2);
    host.options = options;
    PluginState state;
    cr_assert(run_srun(host, state, "dp2") == 0);
    cr_assert(value(host, kCpuBindVariable) == "user", "%s", options.back().c_str());
  }
  FakeHost host = step_of(2);
  host.variables.set("SLURM_CPU_BIND", "none");
  PluginState state;
  cr_assert(run_srun(host, state, "dp2") == 0);
  cr_assert(value(host, kCpuBindVariable) == "user");
}

Test(on_srun, takes_no_other_option_for_a_binding_of_cpus) {
  const std::vector<std::string> others[] = {
      {"srun", "--cpu-freq=high"},
      {"srun", "--cpus-per-task=4"},
      {"srun", "-c2"},
      {"srun", "--cpu-bind=quiet"},
      {"srun", "--cpu-bind", "verbose"},
      {"srun", "--cpu-binding=none"},
      {"srun", "--gpu-bind=none"},
      {"srun", "--cpu-bind="},
  };
  for (const auto& options : others) {
    FakeHost host = step_of(2);
    host.options = options;
    PluginState state;
    cr_assert(run_srun(host, state, "dp2") == 0);
    cr_assert(value(host, kCpuBindVariable) == "(unset)", "%s", options.back().c_str());
  }
}

Test(on_srun, an_outer_steps_binding_is_not_the_users) {
  FakeHost host = step_of(2);
  host.variables.set("SLURM_CPU_BIND", "quiet,mask_cpu:0x00000003");
  host.variables.set("SLURM_CPU_BIND_VERBOSE", "quiet");
  host.variables.set("SLURM_CPU_BIND_TYPE", "mask_cpu:");
  host.variables.set("SLURM_CPU_BIND_LIST", "0x00000003");
  host.variables.set(kCpuBindVariable, "user");
  PluginState state;
  cr_assert(run_srun(host, state, "dp2") == 0);
  cr_assert(value(host, kCpuBindVariable) == "(unset)");
  // Inside that step the user has said something else.
  host.variables.set("SLURM_CPU_BIND", "none");
  PluginState again;
  cr_assert(run_srun(host, again, "dp2") == 0);
  cr_assert(value(host, kCpuBindVariable) == "user");
}

Test(on_srun, other_options_are_not_taken_for_multi_prog) {
  FakeHost host = step_of(2);
  host.options = {"srun", "-n2", "--m", "--multi-program", "--", "--distinit"};
  PluginState state;
  cr_assert(run_srun(host, state, "dp2") == 0);
}

}  // namespace distinit
