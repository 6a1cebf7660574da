// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/pci_address.h"

#include <charconv>

#include <stdio.h>

namespace distinit {

namespace {

/// The hexadecimal number at the start of `text`, up to `end` (or all of it), which is taken away.
std::optional<uint32_t> take_number(std::string_view& text, char end, size_t most_digits) {
  const size_t at = end == '\0' ? text.size() : text.find(end);
  if (at == std::string_view::npos || at == 0 || at > most_digits) {
    return std::nullopt;
  }
  uint32_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + at, number, 16);
  if (error != std::errc{} || stop != text.data() + at) {
    return std::nullopt;
  }
  text.remove_prefix(end == '\0' ? at : at + 1);
  return number;
}

}  // namespace

std::optional<PciAddress> parse_pci_address(std::string_view text) {
  PciAddress out;
  if (text.find(':') != text.rfind(':')) {
    const auto domain = take_number(text, ':', 8);
    if (!domain) {
      return std::nullopt;
    }
    out.domain = *domain;
  }
  const auto bus = take_number(text, ':', 2);
  const auto device = bus ? take_number(text, '.', 2) : std::nullopt;
  const auto function = device ? take_number(text, '\0', 1) : std::nullopt;
  if (!function) {
    return std::nullopt;
  }
  out.bus = static_cast<uint8_t>(*bus);
  out.device = static_cast<uint8_t>(*device);
  out.function = static_cast<uint8_t>(*function);
  return out;
}

std::string format_pci_address(const PciAddress& address) {
  char text[32];
  snprintf(text, sizeof text, "%04x:%02x:%02x.%x", address.domain, address.bus, address.device,
           address.function);
  return text;
}

}  // namespace distinit
