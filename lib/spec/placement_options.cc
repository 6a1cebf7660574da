// SPDX-License-Identifier: Apache-2.0
#include "lib/spec/placement_options.h"

#include "lib/base/nearest.h"
#include "lib/base/text.h"

#include <algorithm>

#include <limits.h>

namespace distinit {

namespace {

struct BindPart {
  std::string_view name;
  bool BindOption::*field;
};

constexpr BindPart kParts[] = {
    {"cpu", &BindOption::cpu},
    {"gpu", &BindOption::gpu},
    {"hca", &BindOption::hca},
    {"memory", &BindOption::memory},
};

constexpr std::string_view kNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
/// Bytes of a verbs device's name (rdma/ib_verbs.h, IB_DEVICE_NAME_MAX).
constexpr size_t kLongestHcaName = 63;

Error bad_part(std::string_view part, std::string_view value, bool twice) {
  const std::string where = concat("'bind=", abbreviate(value), "'");
  if (twice) {
    return Error{ErrorCode::kSpec, concat("part '", part, "' stands twice in ", where),
                 "name each part once", 0};
  }
  const bool whole = part == "all" || part == "none";
  const std::string_view near = nearest(part, {"cpu", "gpu", "hca", "memory", "all", "none"});
  return Error{ErrorCode::kSpec,
               whole ? concat("'", part, "' stands beside other parts in ", where)
                     : concat("unknown part '", abbreviate(part), "' in ", where),
               near.empty() || whole
                   ? std::string("bind is all, none, or parts out of cpu+gpu+hca+memory")
                   : concat("did you mean '", near, "'?"),
               0};
}

bool is_hca_name(std::string_view text) {
  const size_t colon = text.rfind(':');
  const std::string_view name = text.substr(0, colon);
  if (name.empty() || name.size() > kLongestHcaName ||
      name.find_first_not_of(kNameCharacters) != std::string_view::npos) {
    return false;
  }
  return colon == std::string_view::npos || parse_number(text.substr(colon + 1), 1, 255);
}

}  // namespace

Result<BindOption> parse_bind(std::string_view value) {
  const bool all = value == "all";
  BindOption bind{all, all, all, all};
  if (all || value == "none") {
    return bind;
  }
  for (const std::string_view name : split(value, '+')) {
    const auto part = std::find_if(std::begin(kParts), std::end(kParts),
                                   [name](const BindPart& known) { return known.name == name; });
    if (part == std::end(kParts)) {
      return bad_part(name, value, false);
    }
    if (bind.*part->field) {
      return bad_part(name, value, true);
    }
    bind.*part->field = true;
  }
  return bind;
}

bool is_topology_path(std::string_view value) {
  if (!value.starts_with('/') || value.size() >= PATH_MAX) {
    return false;
  }
  for (size_t at = value.find('%'); at != std::string_view::npos; at = value.find('%', at + 1)) {
    if (value.substr(at, 2) != "%n") {
      return false;
    }
  }
  return true;
}

bool is_hca_list(std::string_view value) {
  const auto names = split(value, '+');
  return std::all_of(names.begin(), names.end(), is_hca_name);
}

bool is_variable_name(std::string_view name) {
  return !name.empty() &&
         name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string_view::npos;
}

}  // namespace distinit
