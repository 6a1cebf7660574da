// SPDX-License-Identifier: Apache-2.0
#include "lib/spec/mesh.h"

#include "lib/base/text.h"
#include "lib/spec/dimensions.h"
#include "lib/spec/expert_grid.h"
#include "lib/spec/group_names.h"

#include <algorithm>
#include <map>
#include <optional>

#include <stdint.h>

namespace distinit {

namespace {

using Dims = std::vector<Dimension>;

/// More ranks than any product is compared with; products stop here instead of overflowing.
constexpr int64_t kTooMany = int64_t{1} << 40;

int64_t product_of_sizes(const Dims& dims) {
  int64_t product = 1;
  for (const Dimension& dimension : dims) {
    product = std::min<int64_t>(product * std::max(dimension.size, 1), kTooMany);
  }
  return product;
}

/// "tp2,dp4".
std::string describe(const Dims& dims) {
  std::string text;
  for (const Dimension& dimension : dims) {
    text += concat(text.empty() ? "" : ",", format_dimension(dimension));
  }
  return text;
}

/// "2x4"; an open size is '?'.
std::string describe_sizes(const Dims& dims) {
  std::string text;
  for (const Dimension& dimension : dims) {
    text += text.empty() ? "" : "x";
    text += dimension.size == 0 ? "?" : concat(dimension.size);
  }
  return text;
}

bool is_data_dimension(const Dimension& dimension) {
  return dimension.name.find("dp") != std::string::npos;
}

/// The mesh with one size changed so that it fits, data dimensions first, then outer ones; nullopt
/// where no single size does.
std::optional<Dims> change_one_size(const Dims& dims, int world_size) {
  std::optional<Dims> best;
  for (size_t i = 0; i < dims.size(); ++i) {
    Dims others = dims;
    others[i].size = 1;
    const int64_t rest = product_of_sizes(others);
    if (world_size % rest != 0 || world_size / rest > kLargestDimension) {
      continue;
    }
    others[i].size = static_cast<int>(world_size / rest);
    best = std::move(others);
    if (is_data_dimension(dims[i])) {
      break;
    }
  }
  return best;
}

Error does_not_fit(const Dims& dims, int world_size, std::string_view needed) {
  return Error{ErrorCode::kLayout,
               concat(describe(dims), " needs ", needed, " ranks, the step has ", world_size,
                      " (sizes ", describe_sizes(dims), ")"),
               "", 0};
}

Error wrong_product(const Dims& dims, int world_size, int64_t product) {
  if (product == kTooMany) {
    Error error = does_not_fit(dims, world_size, "more than a million million");
    error.hint = "take smaller sizes";
    return error;
  }
  Error error = does_not_fit(dims, world_size, concat(product));
  error.hint = concat("run ", product, " tasks (-n ", product, ")");
  if (const auto fitting = change_one_size(dims, world_size)) {
    error.hint += concat(", or write ", describe(*fitting));
  }
  return error;
}

Error not_a_multiple(const Dims& dims, int world_size, int64_t fixed) {
  Error error = does_not_fit(dims, world_size, concat("a multiple of ", fixed));
  const int64_t below = world_size / fixed * fixed;
  error.hint = below == 0 ? concat("run ", fixed, " tasks (-n ", fixed, ") or a multiple of that")
                          : concat("run ", below, " or ", below + fixed, " tasks (-n ", below,
                                   ", -n ", below + fixed, ")");
  if (below == 0) {
    error.hint += ", or take smaller sizes";
  }
  return error;
}

Result<Dims> fill_sizes(const Dims& given, int world_size) {
  Dims dims = given;
  if (dims.empty()) {
    dims.push_back({"dp", 0});
  }
  const int64_t product = product_of_sizes(dims);
  const auto open = std::find_if(dims.begin(), dims.end(), [](const auto& d) { return !d.size; });
  if (open == dims.end()) {
    if (product != world_size) {
      return wrong_product(dims, world_size, product);
    }
    return dims;
  }
  if (product == kTooMany) {
    return wrong_product(dims, world_size, product);
  }
  if (world_size % product != 0) {
    return not_a_multiple(dims, world_size, product);
  }
  open->size = static_cast<int>(world_size / product);
  return dims;
}

GroupType make_type(std::string name, const Dims& dims, const std::vector<std::string>& inside) {
  GroupType type{std::move(name), dims, {}};
  for (const Dimension& dimension : dims) {
    type.inside.push_back(std::find(inside.begin(), inside.end(), dimension.name) != inside.end());
  }
  return type;
}

/// dp_cp and dp-cp would both be DISTINIT_DP_CP_…
Status check_variable_names(const std::vector<GroupType>& types) {
  std::map<std::string, std::string> seen;
  for (const GroupType& type : types) {
    std::string name = type.name;
    std::replace(name.begin(), name.end(), '-', '_');
    const auto [other, is_new] = seen.emplace(name, type.name);
    if (!is_new) {
      return Error{ErrorCode::kLayout,
                   concat("'", other->second, "' and '", type.name,
                          "' would have the same variables (DISTINIT_…)"),
                   "give the dimension another name, without '_'", 0};
    }
  }
  return Ok{};
}

}  // namespace

Result<Mesh> resolve_mesh(const Spec& spec, int world_size) {
  if (world_size < 1) {
    return Error{ErrorCode::kLayout, concat("a step of ", world_size, " ranks"),
                 "run at least one task", 0};
  }
  Mesh mesh;
  mesh.world_size = world_size;
  DISTINIT_ASSIGN_OR_RETURN(mesh.dims, fill_sizes(spec.dims, world_size));
  for (const Dimension& dimension : mesh.dims) {
    mesh.group_types.push_back(make_type(dimension.name, mesh.dims, {dimension.name}));
  }
  if (const auto groups = spec.options.find("groups"); groups != spec.options.end()) {
    DISTINIT_ASSIGN_OR_RETURN(const auto names, parse_group_names(groups->second));
    DISTINIT_RETURN_IF_ERROR(check_group_names(names, mesh.dims));
    for (const GroupName& group : names) {
      mesh.group_types.push_back(make_type(group.name, mesh.dims, group.dimensions));
    }
  }
  DISTINIT_ASSIGN_OR_RETURN(auto expert, expert_group_types(spec, mesh.dims, world_size));
  for (GroupType& type : expert) {
    mesh.group_types.push_back(std::move(type));
  }
  DISTINIT_RETURN_IF_ERROR(check_variable_names(mesh.group_types));
  return mesh;
}

std::vector<int> coordinates(const Mesh& mesh, int rank) {
  std::vector<int> out;
  out.reserve(mesh.dims.size());
  for (const Dimension& dimension : mesh.dims) {
    out.push_back(rank % dimension.size);
    rank /= dimension.size;
  }
  return out;
}

}  // namespace distinit
