// SPDX-License-Identifier: Apache-2.0
#include "lib/env/nccl.h"

#include "lib/base/text.h"

#include <algorithm>

namespace distinit {

std::vector<Assignment> nccl_family(const RankContext& context) {
  std::vector<Assignment> out;
  for (const auto& [name, value] : context.nccl_settings) {
    out.push_back(Assignment{concat("NCCL_", name), value, AssignmentKind::kDefault});
  }
  const auto add_found = [&](std::string_view name, std::string value) {
    const bool given = std::any_of(out.begin(), out.end(),
                                   [name](const Assignment& made) { return made.name == name; });
    // NCCL would take ours over its files.
    if (!given && !value.empty() && context.nccl_conf.count(std::string(name)) == 0) {
      out.push_back(Assignment{std::string(name), std::move(value), AssignmentKind::kDefault});
    }
  };
  add_found("NCCL_IB_HCA", context.nccl_ib_hca);
  if (context.group_world_size > 1 && !context.interface.empty() && context.interface != "lo") {
    // '=': without it, eth1 would mean eth10 as well.
    add_found("NCCL_SOCKET_IFNAME", concat('=', context.interface));
  }
  return out;
}

}  // namespace distinit
