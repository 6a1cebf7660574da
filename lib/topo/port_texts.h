// SPDX-License-Identifier: Apache-2.0
#pragma once
// A port's state and LID as the kernel writes them (drivers/infiniband/core/sysfs.c), which hwloc
// takes over.

#include "lib/topo/machine.h"

#include <string_view>

namespace distinit {

/// "4: ACTIVE", or the number alone. 5 is ACTIVE_DEFER, a port in recovery that nothing can be sent
/// through. kUnknown for anything else.
PortState parse_port_state(std::string_view text);

/// "0x9a"; -1 for anything else, and for 0 and 0xffff, which a port without one has.
int parse_lid(std::string_view text);

}  // namespace distinit
