// SPDX-License-Identifier: Apache-2.0
#include "helper/plan_json.h"

#include "lib/base/text.h"

#include <nlohmann/json.hpp>

namespace distinit {

namespace {

using Json = nlohmann::json;

/// An array of one element a line. Elements are written as text, since a large job has hundreds of
/// thousands; nlohmann's part is what can need escaping.
class Lines {
 public:
  Lines(std::string& out, std::string_view key) : out_(out) {
    out_ += concat(",\n\"", key, "\":[");
  }
  template <typename... Parts>
  void add(const Parts&... parts) {
    out_ += is_first_ ? "\n{" : ",\n{";
    (append_text(out_, parts), ...);
    out_ += '}';
    is_first_ = false;
  }
  void end() { out_ += "\n]"; }

 private:
  std::string& out_;
  bool is_first_ = true;
};

std::string quote(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string list(const std::vector<int>& numbers) {
  std::string out = "[";
  for (const int number : numbers) {
    out += out.size() > 1 ? "," : "";
    append_text(out, number);
  }
  return out + ']';
}

void add_ranks(std::string& out, const Plan& plan, const std::vector<std::string>& node_names) {
  std::vector<std::string> keys;
  for (const Dimension& dimension : plan.mesh.dims) {
    keys.push_back(concat(keys.empty() ? "" : ",", quote(dimension.name), ':'));
  }
  Lines ranks(out, "ranks");
  std::string coords;
  for (int rank = 0; rank < plan.mesh.world_size; ++rank) {
    const RankPlace& place = plan.places[static_cast<size_t>(rank)];
    const std::vector<int> values = coordinates(plan.mesh, rank);
    coords.clear();
    for (size_t i = 0; i < values.size(); ++i) {
      append_text(coords, keys[i]);
      append_text(coords, values[i]);
    }
    ranks.add("\"rank\":", rank, ",\"local_rank\":", place.local_rank,
              ",\"node\":", node_names[static_cast<size_t>(place.node)], ",\"coords\":{", coords,
              '}');
  }
  ranks.end();
}

}  // namespace

std::string format_plan_json(const Plan& plan) {
  std::string out =
      concat("{\"spec\":", quote(plan.spec), ",\n\"world_size\":", plan.mesh.world_size);
  Lines dims(out, "dims");
  for (const Dimension& dimension : plan.mesh.dims) {
    dims.add("\"name\":", quote(dimension.name), ",\"size\":", dimension.size);
  }
  dims.end();
  std::vector<std::string> node_names;
  Lines nodes(out, "nodes");
  for (const NodeRanks& node : plan.layout.nodes) {
    node_names.push_back(quote(node.name));
    nodes.add("\"name\":", node_names.back(), ",\"group_rank\":", node.group_rank,
              ",\"ranks\":", list(node.ranks));
  }
  nodes.end();
  Lines groups(out, "groups");
  for (const GroupType& type : plan.mesh.group_types) {
    const std::string name = quote(type.name);
    for (int index = 0; index < group_count(type); ++index) {
      groups.add("\"dim\":", name, ",\"index\":", index,
                 ",\"ranks\":", list(group_ranks(type, index)));
    }
  }
  groups.end();
  add_ranks(out, plan, node_names);
  out += "\n}\n";
  return out;
}

}  // namespace distinit
