// SPDX-License-Identifier: Apache-2.0
#include "lib/env/ucx.h"

namespace distinit {

std::vector<Assignment> ucx_family(const RankContext& context) {
  if (context.ucx_net_devices.empty()) {
    return {};
  }
  return {Assignment{"UCX_NET_DEVICES", context.ucx_net_devices, AssignmentKind::kDefault}};
}

}  // namespace distinit
