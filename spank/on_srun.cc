// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.h"
#include "lib/spec/mesh.h"
#include "lib/spec/protocol.h"
#include "spank/contexts.h"
#include "spank/launch.h"
#include "spank/options.h"
#include "spank/report.h"
#include "spank/step_layout.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

namespace distinit {

namespace {

int refuse(SpankHost& host, const Error& error) {
  report(host, error);
  return -1;
}

/// As getopt has it: any prefix that fits no other option of srun, and the variable that stands for
/// it.
bool is_multi_prog(const SpankHost& host, const Environment& environment) {
  if (environment.has("SLURM_MULTI_PROG")) {
    return true;
  }
  constexpr std::string_view kOption = "--multi-prog";
  for (const std::string& word : host.command_options()) {
    if (word.size() >= std::string_view("--mu").size() && kOption.starts_with(word)) {
      return true;
    }
  }
  return false;
}

/// The option has two names; srun takes both, and prefixes of them that --cpu-freq does not share.
bool is_cpu_bind_option(std::string_view name) {
  return (name.starts_with("--cpu-b") && std::string_view("--cpu-bind").starts_with(name)) ||
         (name.starts_with("--cpu_") && std::string_view("--cpu_bind").starts_with(name));
}

/// False for a value that asks for a report alone.
bool says_how_to_bind(std::string_view value) {
  for (const std::string_view word : split(value, ',')) {
    if (!word.empty() && word != "v" && word != "verbose" && word != "q" && word != "quiet") {
      return true;
    }
  }
  return false;
}

/// SLURM_CPU_BIND as slurmstepd sets it in a task, with its parts beside it (Slurm
/// src/common/env.c, setup_env): what an outer step, such as salloc's shell, was bound to.
bool is_outer_steps(const Environment& environment, std::string_view value) {
  const auto type = environment.get("SLURM_CPU_BIND_TYPE");
  return type && value.find(*type) != std::string_view::npos &&
         value.ends_with(environment.get_or("SLURM_CPU_BIND_LIST", ""));
}

bool has_users_cpu_bind(const SpankHost& host, const Environment& environment) {
  const std::string from_variable = environment.get_or("SLURM_CPU_BIND", "");
  if (says_how_to_bind(from_variable) && !is_outer_steps(environment, from_variable)) {
    return true;
  }
  const auto words = host.command_options();
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const size_t equals = word.find('=');
    if (!is_cpu_bind_option(word.substr(0, equals))) {
      continue;
    }
    const std::string_view next = i + 1 < words.size() ? words[i + 1] : std::string_view();
    if (says_how_to_bind(equals == std::string_view::npos ? next : word.substr(equals + 1))) {
      return true;
    }
  }
  return false;
}

/// Before srun has made a job of its own.
bool is_in_allocation(const SpankHost& host, const Environment& environment) {
  if (environment.has("SLURM_JOB_ID")) {
    return true;
  }
  for (const std::string& word : host.command_options()) {
    if (word.starts_with("--jobid")) {
      return true;
    }
  }
  return false;
}

Result<std::string> mint_secret() {
  char bytes[32];
  size_t filled = 0;
  while (filled < sizeof bytes) {
    const ssize_t count = getrandom(bytes + filled, sizeof bytes - filled, 0);
    if (count < 0 && errno != EINTR) {
      return system_error(ErrorCode::kInternal, "can't get random bytes for the step's secret",
                          errno);
    }
    filled += count > 0 ? static_cast<size_t>(count) : 0;
  }
  return to_hex(std::string_view(bytes, sizeof bytes));
}

std::string now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return concat(int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec);
}

void set_or_unset(SpankHost& host, std::string_view name, const std::string& value) {
  if (value.empty()) {
    host.unset_env(std::string(name));
  } else {
    host.set_env(std::string(name), value);
  }
}

}  // namespace

int srun_options_known(SpankHost& host, PluginState& state) {
  ++state.components;
  if (!state.requested || state.components > 1) {
    return 0;
  }
  const Environment environment(host.environment());
  const auto spec = requested_spec(state, environment);
  if (!spec) {
    return refuse(host, spec.error());
  }
  state.in_allocation = is_in_allocation(host, environment);
  if (!kLaunchesMultiProg && is_multi_prog(host, environment)) {
    return refuse(
        host, Error{ErrorCode::kUsage, "--multi-prog does not work with --distinit on this Slurm",
                    "it needs Slurm 23.11; until then leave --distinit out, and begin "
                    "the programs in the file with `distinit exec --spec SPEC --`",
                    0});
  }
  const auto secret = mint_secret();
  if (!secret) {
    return refuse(host, secret.error());
  }
  // Already here, because srun copies its environment for the later components of a het step before
  // it calls local_user_init. What an outer step left is overwritten or removed.
  set_or_unset(host, kSpecVariable, format_spec(*spec));
  set_or_unset(host, kSecretVariable, *secret);
  set_or_unset(host, kCpuBindVariable,
               has_users_cpu_bind(host, environment) ? std::string(kCpuBindUser) : "");
  for (const std::string_view name :
       {kStepVariable, kRootNodeVariable, kRootAddressVariable, kStartTimeVariable}) {
    host.unset_env(std::string(name));
  }
  return 0;
}

int srun_step_known(SpankHost& host, PluginState& state) {
  if (!state.requested) {
    return 0;
  }
  const bool het = state.components > 1;
  const Environment environment(host.environment());
  const auto spec = requested_spec(state, environment);
  if (!spec) {
    return refuse(host, spec.error());
  }
  const auto job = host.item(HostItem::kJobId);
  const auto step = host.item(HostItem::kStepId);
  const auto tasks = host.item(HostItem::kTotalTasks);
  if (!job || !step || !tasks) {
    return refuse(host, Error{ErrorCode::kInternal, "srun does not tell its job, step and tasks",
                              "is this plugin built for this Slurm? rebuild it", 0});
  }
  // The tasks of a het step are counted for one component only; its agents check the fit. So they
  // do in an allocation: the step is there already, and srun 22.05 that is refused now would leave
  // it to hold its CPUs until the job ends (measured; no RPC of a client ends such a step).
  if (!het && !state.in_allocation) {
    const auto mesh = resolve_mesh(*spec, static_cast<int>(*tasks));
    if (!mesh) {
      return refuse(host, mesh.error());
    }
  }
  // In a het job the tasks' SLURM_JOB_ID, and the component with rank 0, are the leader's, while
  // `job` is any component's.
  const std::string leader = environment.get_or("SLURM_JOB_ID", concat(*job));
  const auto root_job = het ? parse_number(leader, 0, UINT32_MAX).value_or(*job) : *job;
  const RootNode root = find_root_node(static_cast<uint32_t>(root_job), *step);
  set_or_unset(host, kStepVariable, concat(leader, '.', *step));
  set_or_unset(host, kRootNodeVariable, root.name);
  set_or_unset(host, kRootAddressVariable, root.address);
  set_or_unset(host, kStartTimeVariable, now_ns());
  return 0;
}

}  // namespace distinit
