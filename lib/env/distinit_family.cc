// SPDX-License-Identifier: Apache-2.0
#include "lib/env/distinit_family.h"

#include "lib/base/text.h"

#include <ctype.h>

namespace distinit {

namespace {

std::string variable_prefix(const std::string& type) {
  std::string out = "DISTINIT_";
  for (const char c : type) {
    out += c == '-' ? '_' : static_cast<char>(toupper(static_cast<unsigned char>(c)));
  }
  return out + '_';
}

std::string endpoint(const std::string& host, int port) {
  return host.find(':') == std::string::npos ? concat(host, ':', port)
                                             : concat('[', host, "]:", port);
}

/// Stops growing soon after the limit, whatever the size of the group.
void append_ranks(std::string& list, const std::vector<int>& ranks) {
  for (size_t i = 0; i < ranks.size() && list.size() <= kLongestRankList; ++i) {
    if (i > 0) {
      list += ',';
    }
    append_text(list, ranks[i]);
  }
}

std::string list_groups(const GroupType& type) {
  std::string list;
  for (int index = 0; index < group_count(type) && list.size() <= kLongestRankList; ++index) {
    if (index > 0) {
      list += ';';
    }
    append_ranks(list, group_ranks(type, index));
  }
  return list;
}

}  // namespace

std::vector<Assignment> distinit_family(const RankContext& context) {
  std::vector<Assignment> out;
  const auto add = [&out](std::string name, std::string value) {
    // Nobody else sets these: what is there already is an outer step's.
    out.push_back(Assignment{std::move(name), std::move(value), AssignmentKind::kEndpoint});
  };
  size_t list_bytes = 0;
  const auto add_list = [&](std::string name, std::string list) {
    if (list.size() <= kLongestRankList && list_bytes + list.size() <= kMostListBytes) {
      list_bytes += list.size();
      add(std::move(name), std::move(list));
    }
  };
  add("DISTINIT_SPEC", format_spec(*context.spec));
  add("DISTINIT_STEP", concat(context.job_id, '.', context.step_id, '.', context.restart_count));
  add("DISTINIT_STORE", endpoint(context.store_addr, context.store_port));
  add("DISTINIT_NODE", context.node);
  const auto add_known = [&add](std::string name, const std::string& value) {
    if (!value.empty()) {
      add(std::move(name), value);
    }
  };
  add_known("DISTINIT_GPUS", context.gpus);
  add_known("DISTINIT_GPU_PCI", context.gpu_pci);
  add_known("DISTINIT_HCAS", context.hcas);
  add_known("DISTINIT_CPUS", context.cpus);
  const std::vector<int> place = coordinates(*context.mesh, context.rank);
  std::vector<std::string> sizes;
  std::vector<std::string> coords;
  for (size_t i = 0; i < context.mesh->dims.size(); ++i) {
    const Dimension& dim = context.mesh->dims[i];
    sizes.push_back(concat(dim.name, '=', dim.size));
    coords.push_back(concat(dim.name, '=', place[i]));
  }
  add("DISTINIT_MESH", join(sizes, ","));
  add("DISTINIT_COORDS", join(coords, ","));
  for (const GroupType& type : context.mesh->group_types) {
    const std::string prefix = variable_prefix(type.name);
    const Membership member = membership(type, context.rank);
    add(prefix + "SIZE", concat(group_size(type)));
    add(prefix + "RANK", concat(member.position));
    add(prefix + "GROUP", concat(member.index));
    std::string ranks;
    append_ranks(ranks, member.ranks);
    add_list(prefix + "RANKS", std::move(ranks));
    add_list(prefix + "GROUPS", list_groups(type));
  }
  return out;
}

}  // namespace distinit
