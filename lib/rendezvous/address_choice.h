// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which text goes into MASTER_ADDR: the same on every node, and one that every node can reach.

#include "lib/rendezvous/messages.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace distinit {

/// The addresses by which the members reached the root, most used first, ties by text; none for a
/// step on one node.
std::vector<std::string> reached_addresses(const std::map<int, Join>& joined);

/// True where every member has reached the root by exactly this text: nothing needs to be probed.
bool is_reached_by_all(const std::map<int, Join>& joined, const std::string& host);

/// True for a name, not an address, that is `node_name` or what this host calls itself, with a
/// domain or without.
bool is_name_of_this_host(std::string_view text, std::string_view node_name);

/// The first address of the named interface, IPv4 before IPv6, link-local ones never; empty for
/// none.
std::string interface_address(const std::string& interface);

}  // namespace distinit
