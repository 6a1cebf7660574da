// SPDX-License-Identifier: Apache-2.0
#pragma once
// Internet addresses as numbers and text. Nothing here asks a name server: a reverse lookup with a
// broken resolver costs seconds, and numeric text is what PyTorch compares.

#include "lib/base/result.h"

#include <string>
#include <string_view>

#include <sys/socket.h>

namespace distinit {

/// Reads "10.0.0.1", "::1", "[::1]" or "fe80::1%eth0" with a port into an address. kUsage errors
/// name the text.
Result<sockaddr_storage> parse_address(std::string_view address, int port);

/// The same endpoint with a v4-mapped IPv6 address (::ffff:a.b.c.d) turned into plain IPv4;
/// anything else unchanged.
sockaddr_storage unmapped(const sockaddr_storage& endpoint);

/// The address alone, numeric, v4-mapped ones dotted: "10.0.0.1", "::1", "fe80::1%eth0". A family
/// other than IPv4 and IPv6 gives "unknown".
std::string format_address(const sockaddr_storage& endpoint);
/// Address and port: "10.0.0.1:29500", "[::1]:29500".
std::string format_endpoint(const sockaddr_storage& endpoint);

/// The port in host byte order, 0 for other families.
int port_of(const sockaddr_storage& endpoint);
/// 127.0.0.0/8, ::1, or the former v4-mapped.
bool is_loopback(const sockaddr_storage& endpoint);
/// Bytes to hand to bind(2) and connect(2).
socklen_t address_length(const sockaddr_storage& endpoint);

/// Both ends of a connected socket.
struct SocketEnds {
  sockaddr_storage local{};
  sockaddr_storage peer{};
};
/// Fails with the system's reason, ENOTCONN when the peer is gone already.
Result<SocketEnds> socket_ends(int fd);

}  // namespace distinit
