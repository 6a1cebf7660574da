// SPDX-License-Identifier: Apache-2.0
#pragma once
// Listening sockets for a store. Never looks an address up backwards.

#include "lib/base/fd.h"
#include "lib/base/result.h"
#include "lib/base/socket_address.h"

#include <string_view>

namespace distinit {

/// A listening TCP socket, non-blocking, close-on-exec, SO_REUSEADDR, with the largest queue that
/// the kernel allows. `address` is numeric; empty means every address: IPv4 and IPv6 in one socket,
/// IPv4 alone where the kernel has no IPv6. Port 0 lets the kernel choose, see bound_port().
///
/// Errors: kUsage for an address that isn't numeric; kRendezvous naming address, port and reason,
/// `sys_errno` EADDRINUSE where somebody else has the port.
Result<Fd> listen_on(std::string_view address, int port);

/// The port that a bound socket has; 0 when it has none.
int bound_port(const Fd& socket);
/// Its own address and port as text: "127.0.0.1:29500", "[::]:29500".
std::string bound_endpoint(const Fd& socket);

}  // namespace distinit
