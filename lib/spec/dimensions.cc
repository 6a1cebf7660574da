// SPDX-License-Identifier: Apache-2.0
#include "lib/spec/dimensions.h"

#include "lib/base/nearest.h"
#include "lib/base/text.h"
#include "lib/spec/options.h"

#include <algorithm>

namespace distinit {

namespace {

constexpr DimensionHelp kKnown[] = {
    {"tp", "tensor parallel"},
    {"dp", "data parallel"},
    {"pp", "pipeline parallel"},
    {"cp", "context parallel"},
    {"ep", "expert parallel"},
    {"sp", "sequence parallel"},
    {"fsdp", "fully sharded data parallel"},
    {"hsdp", "replicas of fully sharded groups"},
    {"etp", "tensor parallel inside an expert"},
    {"edp", "data parallel of the experts"},
    {"vp", "virtual pipeline, or vocabulary parallel"},
    {"mp", "model parallel"},
    {"dp_replicate", "data parallel, whole copies"},
    {"dp_shard", "data parallel, sharded"},
};

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz_";
constexpr std::string_view kDigits = "0123456789";

Error spec_error(std::string what, std::string hint) {
  return Error{ErrorCode::kSpec, std::move(what), std::move(hint), 0};
}

std::string did_you_mean(std::string_view name, std::string_view rest) {
  return concat("did you mean '", name, rest, "'?");
}

bool is_known(std::string_view name) {
  return std::any_of(std::begin(kKnown), std::end(kKnown),
                     [&](const DimensionHelp& known) { return known.name == name; });
}

std::string_view one_letter_from(std::string_view name) {
  for (const DimensionHelp& known : kKnown) {
    if (edit_distance(name, known.name) == 1) {
      return known.name;
    }
  }
  return {};
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') {
      c = static_cast<char>(c - 'A' + 'a');
    }
  }
  return out;
}

/// An item that does not even begin like a dimension: what could it have been?
Error unreadable(std::string_view item) {
  const std::string lower = lower_case(item);
  if (lower != item && parse_dimension(lower)) {
    return spec_error(concat("dimension '", abbreviate(item), "' is not in lower case"),
                      did_you_mean(lower, ""));
  }
  const size_t digits = std::min(item.find_first_not_of(kDigits), item.size());
  const std::string turned = concat(item.substr(digits), item.substr(0, digits));
  if (digits > 0 && digits < item.size() && parse_dimension(turned)) {
    return spec_error(concat("size before the name in '", abbreviate(item), "'"),
                      did_you_mean(turned, ""));
  }
  return spec_error(concat("can't read '", abbreviate(item), "'"),
                    "an item is a dimension and its size (tp2), or an option (timeout=60)");
}

/// Options that lack '=' look like dimensions.
Status check_not_an_option(std::string_view item) {
  const size_t end = std::min(item.find_first_not_of("abcdefghijklmnopqrstuvwxyz_."), item.size());
  const std::string_view word = item.substr(0, end);
  for (const OptionHelp& option : option_helps()) {
    if (item.starts_with("nccl.") && is_key_of(option, item)) {
      return spec_error(concat("option '", abbreviate(item), "' needs '=' and a value"),
                        concat("for example ", abbreviate(item), '=', option.example));
    }
    const bool misspelt = word.size() >= 5 && edit_distance(word, option.key) == 1;
    if (word == option.key || (misspelt && !is_known(word))) {
      const std::string_view rest = item.substr(end);
      return spec_error(concat("option '", abbreviate(item), "' needs '=' and a value"),
                        did_you_mean(concat(option.key, '='),
                                     check_option(option.key, rest) ? rest : option.example));
    }
  }
  return Ok{};
}

}  // namespace

std::span<const DimensionHelp> known_dimensions() {
  return kKnown;
}

bool is_dimension_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestDimensionName && name.front() != '_' &&
         name.back() != '_' && name.find_first_not_of(kLetters) == std::string_view::npos;
}

Result<Dimension> parse_dimension(std::string_view item) {
  DISTINIT_RETURN_IF_ERROR(check_not_an_option(item));
  const size_t name_end = std::min(item.find_first_not_of(kLetters), item.size());
  const std::string_view name = item.substr(0, name_end);
  const std::string_view size = item.substr(name_end);
  if (name.empty() || size.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string_view::npos) {
    return unreadable(item);
  }
  if (name.size() > kLongestDimensionName) {
    return spec_error(concat("dimension name '", abbreviate(name, 40), "' has ", name.size(),
                             " letters, at most ", kLongestDimensionName, " are allowed"),
                      "take a shorter name");
  }
  if (!is_dimension_name(name)) {
    return spec_error(concat("bad dimension name '", abbreviate(name), "'"),
                      "names are lower-case letters, with '_' only between them");
  }
  if (name == "world") {
    return spec_error("'world' can't be a dimension: it is the group of all ranks",
                      "take another name");
  }
  const bool sized = !size.empty();
  const auto number = parse_number(size, 1, kLargestDimension);
  if (const std::string_view near = is_known(name) ? "" : one_letter_from(name); !near.empty()) {
    return spec_error(concat("unknown dimension '", name, "' in '", abbreviate(item), "'"),
                      did_you_mean(near, number ? size : ""));
  }
  if (sized && !number) {
    return spec_error(concat("bad size '", abbreviate(size), "' in '", abbreviate(item), "'"),
                      concat("a size is a whole number from 1 to ", kLargestDimension,
                             "; without one ('", name, "') it is what is left of the world size"));
  }
  return Dimension{std::string(name), static_cast<int>(number.value_or(0))};
}

std::string format_dimension(const Dimension& dimension) {
  return dimension.size == 0 ? dimension.name : concat(dimension.name, dimension.size);
}

}  // namespace distinit
