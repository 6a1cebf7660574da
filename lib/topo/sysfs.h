// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small files, folders and links of sysfs and procfs, or of a recorded copy of them. Nothing here
// fails: what cannot be read is unknown.

#include "lib/topo/pci_address.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distinit {

/// The first 4096 bytes of a regular file without blanks at its ends; empty when it is not there,
/// not a file, or the kernel refuses (EINVAL of an unused entry).
std::string read_small_file(const std::string& path);

/// Names in a folder, sorted, without those that begin with a dot; 4096 of them at most. Empty when
/// there is no such folder.
std::vector<std::string> list_folder(const std::string& path);

/// The numbers N of the entries PREFIXN, ascending.
std::vector<int> list_numbers(const std::string& folder, std::string_view prefix);

/// The PCI function that a link such as "device" or "physfn" leads to: the last name of its target,
/// or, where a recorded tree has a folder instead, PCI_SLOT_NAME of the uevent file in it.
std::optional<PciAddress> linked_function(const std::string& path);

/// The same, and for a device on another bus (a subfunction on "auxiliary") the PCI function that
/// it is part of.
std::optional<PciAddress> owning_function(const std::string& path);

}  // namespace distinit
