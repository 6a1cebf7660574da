// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which network interface leads somewhere, asked of the kernel alone.

#include "lib/base/host_address.h"

#include <string>

namespace distinit {

/// Name of the interface that holds this machine's own address on the way to `address`; "lo" for a
/// loopback address, empty where there is no route or the address is on no interface. Sends
/// nothing.
std::string interface_towards(const SocketAddress& address);

}  // namespace distinit
