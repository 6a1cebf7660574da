// SPDX-License-Identifier: Apache-2.0
#include "helper/plan_json.h"

#include <nlohmann/json.hpp>

namespace distinit {

namespace {

using Json = nlohmann::ordered_json;

/// An array of one element a line. Elements are written as they are made: a large job has hundreds
/// of thousands.
class Lines {
 public:
  Lines(std::string& out, std::string_view key) : out_(out) {
    out_ += ",\n";
    out_ += Json(key).dump();
    out_ += ":[";
  }
  void add(const Json& element) {
    out_ += is_first_ ? "\n" : ",\n";
    out_ += element.dump();
    is_first_ = false;
  }
  void end() { out_ += "\n]"; }

 private:
  std::string& out_;
  bool is_first_ = true;
};

Json rank_json(const Plan& plan, int rank) {
  const RankPlace& place = plan.places[static_cast<size_t>(rank)];
  const std::vector<int> values = coordinates(plan.mesh, rank);
  Json coords = Json::object();
  for (size_t i = 0; i < values.size(); ++i) {
    coords[plan.mesh.dims[i].name] = values[i];
  }
  return Json{{"rank", rank},
              {"local_rank", place.local_rank},
              {"node", plan.layout.nodes[static_cast<size_t>(place.node)].name},
              {"coords", std::move(coords)}};
}

}  // namespace

std::string format_plan_json(const Plan& plan) {
  std::string out = "{\"spec\":" + Json(plan.spec).dump();
  out += ",\n\"world_size\":" + Json(plan.mesh.world_size).dump();
  Lines dims(out, "dims");
  for (const Dimension& dimension : plan.mesh.dims) {
    dims.add({{"name", dimension.name}, {"size", dimension.size}});
  }
  dims.end();
  Lines nodes(out, "nodes");
  for (const NodeRanks& node : plan.layout.nodes) {
    nodes.add({{"name", node.name}, {"group_rank", node.group_rank}, {"ranks", node.ranks}});
  }
  nodes.end();
  Lines groups(out, "groups");
  for (const GroupType& type : plan.mesh.group_types) {
    for (int index = 0; index < group_count(type); ++index) {
      groups.add({{"dim", type.name}, {"index", index}, {"ranks", group_ranks(type, index)}});
    }
  }
  groups.end();
  Lines ranks(out, "ranks");
  for (int rank = 0; rank < plan.mesh.world_size; ++rank) {
    ranks.add(rank_json(plan, rank));
  }
  ranks.end();
  out += "\n}\n";
  return out;
}

}  // namespace distinit
