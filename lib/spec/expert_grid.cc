// SPDX-License-Identifier: Apache-2.0
#include "lib/spec/expert_grid.h"

#include "lib/base/text.h"
#include "lib/spec/dimensions.h"

#include <algorithm>
#include <optional>

#include <stdint.h>

namespace distinit {

namespace {

using Dims = std::vector<Dimension>;

/// The world, the grid's fixed sizes, and where edp stands.
struct ExpertGrid {
  Dims dims;
  int64_t fixed = 1;  // product of all but edp
};

std::optional<int> option_size(const Spec& spec, std::string_view key) {
  const auto found = spec.options.find(key);
  if (found == spec.options.end()) {
    return std::nullopt;
  }
  return static_cast<int>(parse_number(found->second, 1, kLargestDimension).value_or(1));
}

bool is_requested(const Spec& spec) {
  return option_size(spec, "expert.ep") || option_size(spec, "expert.tp");
}

Dims::const_iterator find_dimension(const Dims& dims, std::string_view name) {
  return std::find_if(dims.begin(), dims.end(), [&](const Dimension& d) { return d.name == name; });
}

int size_of(const Dims& dims, std::string_view name) {
  const auto found = find_dimension(dims, name);
  return found == dims.end() ? 1 : found->size;
}

int64_t stride_of(const Dims& dims, std::string_view name) {
  int64_t stride = 1;
  for (auto it = dims.begin(); it != dims.end() && it->name != name; ++it) {
    stride *= it->size;
  }
  return stride;
}

/// The grid with edp still 0.
ExpertGrid arrange(const Spec& spec, const Dims& dense) {
  const int ep = option_size(spec, "expert.ep").value_or(1);
  const int etp = option_size(spec, "expert.tp").value_or(size_of(dense, "tp"));
  const bool has_dp = find_dimension(dense, "dp") != dense.end();
  ExpertGrid grid;
  bool placed = false;
  const auto place_expert_dims = [&] {
    grid.dims.push_back({"ep", ep});
    grid.dims.push_back({"edp", 0});
    placed = true;
  };
  if (find_dimension(dense, "tp") == dense.end()) {
    grid.dims.push_back({"etp", etp});
  }
  for (const Dimension& dimension : dense) {
    if (dimension.name == "tp") {
      grid.dims.push_back({"etp", etp});
    } else if (dimension.name == "dp") {
      place_expert_dims();
    } else if (dimension.name != "cp") {
      if (dimension.name == "pp" && !has_dp) {
        place_expert_dims();
      }
      grid.dims.push_back(dimension);
    }
  }
  if (!placed) {
    place_expert_dims();
  }
  for (const Dimension& dimension : grid.dims) {
    grid.fixed *= dimension.size == 0 ? 1 : dimension.size;
    grid.fixed = std::min<int64_t>(grid.fixed, INT64_MAX / kLargestDimension);
  }
  return grid;
}

std::string describe(const Dims& dims) {
  std::string text;
  for (const Dimension& dimension : dims) {
    if (dimension.name != "edp") {
      text += concat(text.empty() ? "" : " x ", format_dimension(dimension));
    }
  }
  return text;
}

Error layout_error(std::string what, std::string hint) {
  return Error{ErrorCode::kLayout, std::move(what), std::move(hint), 0};
}

Status check_against_dense(const Dims& dense, const Dims& expert) {
  const int pp = size_of(dense, "pp");
  if (pp == 1) {
    return Ok{};
  }
  const int64_t dense_stride = stride_of(dense, "pp");
  const int64_t expert_stride = stride_of(expert, "pp");
  if (dense_stride != expert_stride) {
    return layout_error(
        concat("the expert grid has other pp groups than the mesh (ranks ", expert_stride,
               " apart instead of ", dense_stride, ")"),
        "put pp last, or take sizes for expert.ep and expert.tp that keep what stands before pp");
  }
  const int dp = size_of(dense, "dp");
  const int edp = size_of(expert, "edp");
  if (dense.back().name != "pp" && dp != edp) {
    return layout_error(
        concat("pp is not the last dimension, and the experts' dp is ", edp, " where dp is ", dp),
        "put pp last, or take sizes for expert.ep and expert.tp that keep dp");
  }
  return Ok{};
}

}  // namespace

Status check_expert_names(const Spec& spec) {
  if (!is_requested(spec)) {
    return Ok{};
  }
  for (const Dimension& dimension : spec.dims) {
    if (dimension.name == "ep" || dimension.name == "etp" || dimension.name == "edp") {
      return Error{ErrorCode::kSpec,
                   concat("'", format_dimension(dimension),
                          "' multiplies the world, and expert.ep or expert.tp lays a second grid "
                          "over it: both use the name '",
                          dimension.name, "'"),
                   concat("leave out '", format_dimension(dimension), "', or the expert options"),
                   0};
    }
  }
  return Ok{};
}

Result<std::vector<GroupType>> expert_group_types(const Spec& spec, const Dims& dims,
                                                  int world_size) {
  if (!is_requested(spec)) {
    return std::vector<GroupType>{};
  }
  DISTINIT_RETURN_IF_ERROR(check_expert_names(spec));
  ExpertGrid grid = arrange(spec, dims);
  if (world_size % grid.fixed != 0) {
    const int64_t others = grid.fixed / size_of(grid.dims, "etp") / size_of(grid.dims, "ep");
    return layout_error(concat("the expert grid ", describe(grid.dims), " needs a multiple of ",
                               grid.fixed, " ranks, the step has ", world_size),
                        concat("take expert.tp and expert.ep whose product divides ",
                               world_size / std::max<int64_t>(others, 1)));
  }
  for (Dimension& dimension : grid.dims) {
    if (dimension.name == "edp") {
      dimension.size = static_cast<int>(world_size / grid.fixed);
    }
  }
  DISTINIT_RETURN_IF_ERROR(check_against_dense(dims, grid.dims));

  std::vector<std::vector<std::string_view>> wanted = {{"etp"}, {"ep"}, {"edp"}, {"etp", "ep"}};
  if (find_dimension(dims, "pp") != dims.end()) {
    wanted.push_back({"etp", "ep", "pp"});
  }
  std::vector<GroupType> types;
  for (const auto& names : wanted) {
    GroupType type{"", grid.dims, {}};
    for (const std::string_view name : names) {
      type.name += concat(type.name.empty() ? "" : "-", name);
    }
    for (const Dimension& dimension : grid.dims) {
      type.inside.push_back(std::find(names.begin(), names.end(), dimension.name) != names.end());
    }
    types.push_back(std::move(type));
  }
  return types;
}

}  // namespace distinit
