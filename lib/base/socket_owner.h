// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who owns the other end of a TCP connection on this host. The kernel answers for one exact pair of
// addresses (sock_diag(7)), without privileges and without reading everybody's sockets.

#include "lib/base/result.h"

#include <sys/socket.h>
#include <sys/types.h>

namespace distinit {

/// The uid that made the TCP socket in this network namespace whose own address is
/// `local_end_of_peer` and that is connected to `its_peer`. For a connection that was accepted
/// here, pass getpeername's address first and getsockname's second. v4-mapped addresses and plain
/// IPv4 mean the same.
///
/// kRendezvous error: no such socket, closed by its program already (the kernel then no longer
/// knows an owner), or the kernel has no sock_diag; the endpoints are named.
Result<uid_t> socket_owner(const sockaddr_storage& local_end_of_peer,
                           const sockaddr_storage& its_peer);

}  // namespace distinit
