// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/hwloc_values.h"

#include "lib/base/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <utility>

namespace distinit {

namespace {

constexpr std::pair<std::string_view, HwlocType> kTypes[] = {
    {"machine", HwlocType::kMachine}, {"system", HwlocType::kMachine},
    {"package", HwlocType::kPackage}, {"socket", HwlocType::kPackage},
    {"numanode", HwlocType::kNuma},   {"node", HwlocType::kNuma},
    {"core", HwlocType::kCore},       {"pu", HwlocType::kPu},
    {"bridge", HwlocType::kBridge},   {"pcidev", HwlocType::kPci},
    {"osdev", HwlocType::kOs},        {"misc", HwlocType::kMisc}};

/// The hexadecimal digits up to `end`, which is taken away with them.
bool take_hex(std::string_view& text, std::string_view end, uint16_t& out) {
  const size_t at = text.find(end);
  if (at == std::string_view::npos || at == 0) {
    return false;
  }
  const auto [stop, error] = std::from_chars(text.data(), text.data() + at, out, 16);
  if (error != std::errc{} || stop != text.data() + at) {
    return false;
  }
  text.remove_prefix(at + end.size());
  return true;
}

}  // namespace

HwlocType parse_hwloc_type(std::string_view text) {
  constexpr size_t kLongest = 8;
  if (text.size() > kLongest) {
    return HwlocType::kOther;
  }
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const auto& [known, type] : kTypes) {
    if (name == known) {
      return type;
    }
  }
  return HwlocType::kOther;
}

bool is_io_type(HwlocType type) {
  return type == HwlocType::kBridge || type == HwlocType::kPci || type == HwlocType::kOs;
}

std::optional<CpuSet> parse_hwloc_set(std::string_view text) {
  std::string mask;
  for (const std::string_view word : split(text, ',')) {
    append_text(mask, mask.empty() ? "" : ",");
    append_text(mask, word.empty() && !text.empty() ? "0" : word);
  }
  return CpuSet::parse_mask(mask);
}

bool is_endless_hwloc_set(std::string_view text) {
  return text.starts_with("0xf...f");
}

bool parse_hwloc_pci_type(std::string_view text, PciNode& node) {
  return take_hex(text, " [", node.class_id) && take_hex(text, ":", node.vendor) &&
         take_hex(text, "]", node.device);
}

}  // namespace distinit
