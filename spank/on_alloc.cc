// SPDX-License-Identifier: Apache-2.0
#include "spank/contexts.h"
#include "spank/options.h"
#include "spank/report.h"

namespace distinit {

int allocator_options_known(SpankHost& host, PluginState& state) {
  if (!state.requested) {
    return 0;
  }
  const auto spec = requested_spec(state, Environment(host.environment()));
  if (!spec) {
    report(host, spec.error());
    return -1;
  }
  return 0;
}

}  // namespace distinit
