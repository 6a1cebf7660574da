// SPDX-License-Identifier: Apache-2.0
#pragma once
// The texts in the attributes of hwloc's XML (hwloc/topology-xml.c, versions 1 and 2).

#include "lib/base/cpu_set.h"
#include "lib/topo/machine.h"

#include <optional>
#include <string_view>

namespace distinit {

enum class HwlocType { kMachine, kPackage, kNuma, kCore, kPu, kBridge, kPci, kOs, kMisc, kOther };

/// "PCIDev". hwloc 1 wrote Socket and Node too, and System above several machines; kOther: caches,
/// groups, and what is not known.
HwlocType parse_hwloc_type(std::string_view text);

/// Bridges, PCI and OS devices: what has no CPUs of its own.
bool is_io_type(HwlocType type);

/// "0x000000ff,,0x1": as a kernel's mask, but words of zeros may be left out. nullopt for anything
/// else, such as an endless set ("0xf...f").
std::optional<CpuSet> parse_hwloc_set(std::string_view text);

/// All numbers from some on: hwloc's way to say nothing.
bool is_endless_hwloc_set(std::string_view text);

/// "0302 [10de:2330] [10de:16c1] a1": class, vendor and device into `node`. False: not such a text.
bool parse_hwloc_pci_type(std::string_view text, PciNode& node);

}  // namespace distinit
