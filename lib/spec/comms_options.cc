// SPDX-License-Identifier: Apache-2.0
#include "lib/spec/comms_options.h"

#include "lib/base/text.h"

#include <limits.h>

namespace distinit {

namespace {

constexpr std::string_view kGroupNameBytes = "abcdefghijklmnopqrstuvwxyz_-";

/// "100" or "12.5", above 0 and below a million.
std::optional<double> parse_bandwidth(std::string_view text) {
  const size_t point = text.find('.');
  const auto whole = parse_number(text.substr(0, point), 0, 999'999);
  if (!whole) {
    return std::nullopt;
  }
  double value = static_cast<double>(*whole);
  if (point != std::string_view::npos) {
    const std::string_view digits = text.substr(point + 1);
    const auto part = parse_number(digits, 0, 999'999);
    if (!part || digits.size() > 6) {
      return std::nullopt;
    }
    double unit = 1;
    for (size_t i = 0; i < digits.size(); ++i) {
      unit *= 10;
    }
    value += static_cast<double>(*part) / unit;
  }
  return value > 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<CommsOption> parse_comms(std::string_view value) {
  CommsOption comms;
  bool named_way = false;
  for (const std::string_view part : split(value, '+')) {
    if (part == "preload" && !comms.preload) {
      comms.preload = true;
    } else if ((part == "split" || part == "ids") && !named_way) {
      named_way = true;
      comms.split = part == "split";
    } else {
      return std::nullopt;
    }
  }
  return comms;
}

std::optional<std::map<std::string, double, std::less<>>> parse_least_bandwidths(
    std::string_view value) {
  std::map<std::string, double, std::less<>> least;
  for (const std::string_view part : split(value, '+')) {
    const size_t colon = part.find(':');
    const std::string_view name =
        colon == std::string_view::npos ? std::string_view() : part.substr(0, colon);
    const auto bandwidth =
        parse_bandwidth(colon == std::string_view::npos ? part : part.substr(colon + 1));
    const bool is_name = colon == std::string_view::npos ||
                         (!name.empty() && name.find_first_not_of(kGroupNameBytes) == name.npos);
    if (!bandwidth || !is_name || !least.emplace(name, *bandwidth).second) {
      return std::nullopt;
    }
  }
  return least;
}

bool is_report_path(std::string_view value) {
  return value.starts_with('/') && value.size() < PATH_MAX && value.back() != '/';
}

}  // namespace distinit
