// SPDX-License-Identifier: Apache-2.0
#include "lib/spec/group_names.h"

#include "lib/base/nearest.h"
#include "lib/base/text.h"
#include "lib/spec/dimensions.h"

#include <algorithm>

namespace distinit {

namespace {

Error bad_groups(std::string what, std::string hint) {
  return Error{ErrorCode::kSpec, std::move(what), std::move(hint), 0};
}

Result<GroupName> parse_one(std::string_view text) {
  GroupName group{std::string(text), {}};
  for (const std::string_view dimension : split(text, '-')) {
    if (!is_dimension_name(dimension)) {
      return bad_groups(concat("bad dimension name '", abbreviate(dimension), "' in groups type '",
                               abbreviate(text), "'"),
                        "for example groups=dp-cp+tp-pp: '-' between dimensions, '+' between "
                        "types");
    }
    if (std::find(group.dimensions.begin(), group.dimensions.end(), dimension) !=
        group.dimensions.end()) {
      return bad_groups(
          concat("'", dimension, "' stands twice in groups type '", abbreviate(text), "'"),
          "name each dimension once");
    }
    group.dimensions.emplace_back(dimension);
  }
  if (group.dimensions.size() < 2) {
    return bad_groups(concat("groups type '", text, "' has only one dimension"),
                      "every dimension has its groups already: leave it out, or join two with '-'");
  }
  return group;
}

}  // namespace

Result<std::vector<GroupName>> parse_group_names(std::string_view value) {
  std::vector<GroupName> groups;
  std::vector<std::vector<std::string>> seen;
  for (const std::string_view text : split(value, '+')) {
    DISTINIT_ASSIGN_OR_RETURN(GroupName group, parse_one(text));
    std::vector<std::string> set = group.dimensions;
    std::sort(set.begin(), set.end());
    const auto twin = std::find(seen.begin(), seen.end(), set);
    if (twin != seen.end()) {
      return bad_groups(
          concat("groups types '", groups[static_cast<size_t>(twin - seen.begin())].name, "' and '",
                 abbreviate(text), "' are the same groups"),
          "leave one of them out");
    }
    seen.push_back(std::move(set));
    groups.push_back(std::move(group));
  }
  return groups;
}

Status check_group_names(const std::vector<GroupName>& names, const std::vector<Dimension>& dims) {
  std::vector<std::string_view> known;
  std::string all;
  for (const Dimension& dimension : dims) {
    known.push_back(dimension.name);
    all += concat(all.empty() ? "" : ", ", dimension.name);
  }
  for (const GroupName& group : names) {
    for (const std::string& dimension : group.dimensions) {
      if (std::find(known.begin(), known.end(), dimension) != known.end()) {
        continue;
      }
      const std::string_view near = nearest(dimension, known);
      return bad_groups(
          concat("groups type '", group.name, "' names '", dimension, "', which is no dimension"),
          concat(near.empty() ? "" : concat("did you mean '", near, "'? "),
                 "the dimensions of this SPEC are ", all));
    }
  }
  return Ok{};
}

}  // namespace distinit
