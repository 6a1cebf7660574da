// SPDX-License-Identifier: Apache-2.0
#include "spank/options.h"

#include "lib/base/text.h"
#include "lib/spec/protocol.h"
#include "spank/contexts.h"
#include "tests/spank/fake_host.h"

#include <criterion/criterion.h>

namespace distinit {

namespace {

std::string merged(const PluginState& state, const char* user_default) {
  Environment environment;
  if (user_default != nullptr) {
    environment.set(kDefaultSpecVariable, user_default);
  }
  const auto spec = requested_spec(state, environment);
  return spec ? format_spec(*spec) : concat("error: ", spec.error().what);
}

Spec spec(std::string_view text) {
  return *parse_spec(text);
}

}  // namespace

Test(options, a_bare_option_asks_without_a_spec) {
  FakeHost host;
  PluginState state;
  cr_assert(on_option(host, state, nullptr) == 0);
  cr_assert(state.requested && !state.spec);
  cr_assert(host.errors.empty());
  cr_assert(merged(state, nullptr) == "dp");
}

Test(options, the_last_occurrence_counts) {
  FakeHost host;
  PluginState state;
  cr_assert(on_option(host, state, "tp2,dp") == 0);
  cr_assert(on_option(host, state, "pp4") == 0);
  cr_assert(state.spec == spec("pp4"));
  cr_assert(on_option(host, state, nullptr) == 0);
  cr_assert(!state.spec);
}

Test(options, an_empty_spec_is_an_error) {
  FakeHost host;
  PluginState state;
  cr_assert(on_option(host, state, "") == -1);
  cr_assert(host.errors.size() == 2);
  cr_assert(host.errors[0] == "distinit: --distinit= is empty");
  cr_assert(host.errors[1].starts_with("distinit: hint: "));
}

Test(options, a_bare_option_inherited_from_sbatch_is_no_error) {
  for (const char* inherited : {"", "(null)"}) {
    FakeHost host;
    host.variables.set(kOptionVariable, inherited);
    PluginState state;
    cr_assert(on_option(host, state, inherited) == 0);
    cr_assert(state.requested && !state.spec && host.errors.empty());
  }
  FakeHost host;
  PluginState state;
  cr_assert(on_option(host, state, "(null)") == -1);
}

Test(options, a_misspelt_spec_ends_the_command_with_one_error_and_its_hint) {
  FakeHost host;
  PluginState state;
  cr_assert(on_option(host, state, "tp2,dq") == -1);
  cr_assert(host.errors.size() == 2);
  cr_assert(host.errors[0].starts_with("distinit: "));
  cr_assert(host.errors[0].find("dq") != std::string::npos);
  cr_assert(host.errors[1] == "distinit: hint: did you mean 'dp'?", "%s", host.errors[1].c_str());
}

Test(options, a_spec_of_a_megabyte_is_refused_in_a_short_line) {
  FakeHost host;
  PluginState state;
  const std::string huge(size_t{1} << 20, 'x');
  cr_assert(on_option(host, state, huge.c_str()) == -1);
  cr_assert(host.errors[0].size() < 300);
}

Test(options, the_command_line_wins_over_the_user_and_the_user_over_the_site) {
  PluginState state;
  state.plugstack.defaults = spec("tp8,timeout=10,linger=5");
  cr_assert(merged(state, nullptr) == format_spec(spec("tp8,timeout=10,linger=5")));
  cr_assert(merged(state, "tp4,timeout=20") == format_spec(spec("tp4,timeout=20,linger=5")));
  state.spec = spec("tp2,dp2");
  cr_assert(merged(state, "tp4,timeout=20") == format_spec(spec("tp2,dp2,timeout=20,linger=5")));
}

Test(options, an_empty_user_default_is_none) {
  cr_assert(merged(PluginState{}, "") == "dp");
}

Test(options, an_error_names_the_place_it_comes_from) {
  PluginState state;
  cr_assert(merged(state, "tp2,tp2").starts_with("error: SLURM_DISTINIT: "));
  state.plugstack.error = Error{ErrorCode::kUsage, "plugstack.conf: x", "", 0};
  cr_assert(merged(state, nullptr) == "error: plugstack.conf: x");
}

Test(options, sbatch_checks_all_places_and_changes_nothing) {
  FakeHost host;
  host.where = HostContext::kAllocator;
  host.variables.set(kDefaultSpecVariable, "tp2,tp2");
  const auto before = host.variables.values();
  PluginState state;
  cr_assert(allocator_options_known(host, state) == 0);
  cr_assert(host.errors.empty());
  state.requested = true;
  cr_assert(allocator_options_known(host, state) == -1);
  cr_assert(host.errors[0].starts_with("distinit: SLURM_DISTINIT: "));
  cr_assert(host.variables.values() == before);
}

}  // namespace distinit
