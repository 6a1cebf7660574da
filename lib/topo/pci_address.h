// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a PCI function is: domain:bus:device.function.

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include <stdint.h>

namespace distinit {

struct PciAddress {
  uint32_t domain = 0;  ///< more than 16 bits behind a VMD
  uint8_t bus = 0;
  uint8_t device = 0;  ///< 0-31 where the kernel made it; virtual machines' files exceed it
  uint8_t function = 0;

  // clang-tidy takes the literal 0 in its expansion for a pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  auto operator<=>(const PciAddress&) const = default;
};

/// "0000:4e:00.0", also without the domain ("4e:00.0") and in upper case; nullopt for anything
/// else.
std::optional<PciAddress> parse_pci_address(std::string_view text);

/// Lower case, the domain with at least four digits.
std::string format_pci_address(const PciAddress& address);

}  // namespace distinit
