// SPDX-License-Identifier: Apache-2.0
#pragma once
// Forward name lookup without stopping the event loop: getaddrinfo may take many seconds where DNS
// is broken.

#include "lib/base/event_loop.h"
#include "lib/base/host_address.h"

#include <functional>
#include <string>
#include <vector>

namespace distinit {

/// Looks up `host` on a thread of its own and calls back once from the loop, with the addresses
/// (port 0) in getaddrinfo's order without repeats; none when the name has none. A numeric text
/// never leaves this process. The loop must outlive the lookup, or the process must end with the
/// loop.
void resolve(EventLoop& loop, const std::string& host,
             std::function<void(std::vector<SocketAddress>)> on_done);

}  // namespace distinit
