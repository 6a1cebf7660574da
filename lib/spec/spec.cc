// SPDX-License-Identifier: Apache-2.0
#include "lib/spec/spec.h"

#include "lib/base/text.h"
#include "lib/spec/dimensions.h"
#include "lib/spec/expert_grid.h"
#include "lib/spec/group_names.h"
#include "lib/spec/options.h"

#include <algorithm>

namespace distinit {

namespace {

Error spec_error(std::string what, std::string hint) {
  return Error{ErrorCode::kSpec, std::move(what), std::move(hint), 0};
}

Status check_characters(std::string_view item) {
  for (const char c : item) {
    if (c == ' ' || c == '\t' || c == '\n') {
      return spec_error(concat("blank in '", abbreviate(item), "'"),
                        "write the SPEC without blanks: tp2,dp2");
    }
    if (c < ' ' || c > '~') {
      return spec_error(concat("byte 0x", to_hex(std::string_view(&c, 1)), " in '",
                               abbreviate(item), "' is not printable ASCII"),
                        "type the SPEC by hand: tp2,dp2");
    }
  }
  return Ok{};
}

Status add_dimension(Dimension dimension, Spec& into) {
  for (const Dimension& other : into.dims) {
    if (other.name == dimension.name) {
      return spec_error(
          concat("dimension '", dimension.name, "' is given twice ('", format_dimension(other),
                 "' and '", format_dimension(dimension), "')"),
          "leave one of them out, or give it a name of its own");
    }
    if (other.size == 0 && dimension.size == 0) {
      return spec_error(concat("both '", other.name, "' and '", dimension.name, "' have no size"),
                        concat("only one can be what is left of the world size: did you mean '",
                               other.name, "2'?"));
    }
  }
  if (into.dims.size() == kMostDimensions) {
    return spec_error(concat("more than ", kMostDimensions, " dimensions"),
                      "join some of them into one");
  }
  into.dims.push_back(std::move(dimension));
  return Ok{};
}

Status add_item(std::string_view item, Spec& into) {
  DISTINIT_RETURN_IF_ERROR(check_characters(item));
  if (item.find('=') != std::string_view::npos) {
    return parse_option(item, into);
  }
  DISTINIT_ASSIGN_OR_RETURN(Dimension dimension, parse_dimension(item));
  return add_dimension(std::move(dimension), into);
}

/// What can be seen only once all items are there.
Status check_together(const Spec& spec) {
  DISTINIT_RETURN_IF_ERROR(check_expert_names(spec));
  const auto groups = spec.options.find("groups");
  if (groups == spec.options.end() || spec.dims.empty()) {
    return Ok{};
  }
  DISTINIT_ASSIGN_OR_RETURN(const auto names, parse_group_names(groups->second));
  return check_group_names(names, spec.dims);
}

bool belongs_to_dimensions(std::string_view key) {
  return key == "groups" || key.starts_with("expert.");
}

}  // namespace

Result<Spec> parse_spec(std::string_view text) {
  if (text.size() > kLongestSpec) {
    return spec_error(concat("SPEC of ", text.size(), " bytes, at most ", kLongestSpec,
                             " are read (it begins with '", abbreviate(text, 20), "')"),
                      "a SPEC is a short list such as tp2,dp2");
  }
  if (text.empty()) {
    return spec_error("empty SPEC",
                      "name the mesh, such as tp2,dp2; 'dp' alone is one group of all ranks");
  }
  Spec spec;
  for (const std::string_view item : split(text, ',')) {
    if (item.empty()) {
      return spec_error(
          concat("empty item in '", abbreviate(text), "'"),
          "there is a comma too many: items are separated by single commas (tp2,dp2)");
    }
    DISTINIT_RETURN_IF_ERROR(add_item(item, spec));
  }
  DISTINIT_RETURN_IF_ERROR(check_together(spec));
  return spec;
}

Status parse_option(std::string_view item, Spec& into) {
  DISTINIT_RETURN_IF_ERROR(check_characters(item));
  const size_t at = item.find('=');
  if (at == std::string_view::npos) {
    return spec_error(concat("'", abbreviate(item), "' is not an option (key=value)"),
                      "for example timeout=60");
  }
  const std::string_view key = item.substr(0, at);
  const std::string_view value = item.substr(at + 1);
  DISTINIT_RETURN_IF_ERROR(check_option(key, value));
  const auto [entry, is_new] = into.options.emplace(key, value);
  if (!is_new) {
    return spec_error(concat("option '", key, "' is given twice ('", abbreviate(entry->second),
                             "' and '", abbreviate(value), "')"),
                      "leave one of them out");
  }
  return Ok{};
}

Spec merge_specs(const Spec& earlier, const Spec& later) {
  Spec merged = later;
  if (later.dims.empty()) {
    merged.dims = earlier.dims;
  }
  for (const auto& [key, value] : earlier.options) {
    if (later.dims.empty() || !belongs_to_dimensions(key)) {
      merged.options.emplace(key, value);
    }
  }
  return merged;
}

std::string format_spec(const Spec& spec) {
  std::vector<std::string> items;
  for (const Dimension& dimension : spec.dims) {
    items.push_back(format_dimension(dimension));
  }
  for (const auto& [key, value] : spec.options) {
    items.push_back(concat(key, '=', value));
  }
  return items.empty() ? "dp" : join(items, ",");
}

}  // namespace distinit
