// SPDX-License-Identifier: Apache-2.0
#include "spank/options.h"

#include "lib/spec/protocol.h"
#include "spank/report.h"

namespace distinit {

namespace {

/// A bare --distinit given to sbatch or salloc reaches the sruns inside as Slurm's variable with
/// nothing in it, which 22.05 writes "(null)".
bool is_inherited_bare_option(const SpankHost& host, std::string_view argument) {
  return (argument.empty() || argument == "(null)") &&
         Environment(host.environment()).get(kOptionVariable) == argument;
}

}  // namespace

int on_option(SpankHost& host, PluginState& state, const char* argument) {
  state.requested = true;
  state.spec.reset();
  if (argument == nullptr || is_inherited_bare_option(host, argument)) {
    return 0;
  }
  if (*argument == '\0') {
    report(host,
           Error{ErrorCode::kSpec, "--distinit= is empty",
                 "write --distinit for one dp over all ranks, or a SPEC such as --distinit=tp2,dp2",
                 0});
    return -1;
  }
  auto spec = parse_spec(argument);
  if (!spec) {
    report(host, spec.error());
    return -1;
  }
  state.spec = std::move(*spec);
  return 0;
}

void on_remote_option(PluginState& state) {
  state.requested = true;
}

Result<Spec> requested_spec(const PluginState& state, const Environment& environment) {
  if (state.plugstack.error) {
    return *state.plugstack.error;
  }
  Spec merged = state.plugstack.defaults;
  const std::string from_user = environment.get_or(kDefaultSpecVariable, "");
  if (!from_user.empty()) {
    const auto spec = parse_spec(from_user);
    if (!spec) {
      return with_context(spec.error(), kDefaultSpecVariable);
    }
    merged = merge_specs(merged, *spec);
  }
  return state.spec ? merge_specs(merged, *state.spec) : merged;
}

}  // namespace distinit
