// SPDX-License-Identifier: Apache-2.0
#pragma once
// IP addresses with ports as values. Numeric only: nothing here asks a name service, forward or
// reverse.

#include "lib/base/result.h"

#include <optional>
#include <string>
#include <string_view>

#include <sys/socket.h>

namespace distinit {

/// An IPv4 or IPv6 address and a port. IPv4-mapped IPv6 addresses are kept as IPv4.
class SocketAddress {
 public:
  SocketAddress() = default;
  /// From what the kernel gave; another family gives an address that is not valid().
  explicit SocketAddress(const sockaddr_storage& address);
  /// From a numeric text ("10.0.0.7", "fd00::7"; no brackets, no name); nullopt for anything else.
  static std::optional<SocketAddress> parse(std::string_view host, int port);
  /// The two ends of a connected socket; not valid() when there is none.
  static SocketAddress peer_of(int fd);
  static SocketAddress local_of(int fd);

  bool valid() const { return storage_.ss_family != AF_UNSPEC; }
  /// The address without the port: "10.0.0.7", "fd00::7", "fe80::1%eth0"; empty when not valid().
  std::string host() const;
  int port() const;
  /// "10.0.0.7:23001", "[fd00::7]:23001".
  std::string text() const;
  bool is_loopback() const;
  bool is_link_local() const;
  /// 0.0.0.0 or ::
  bool is_any() const;
  SocketAddress with_port(int port) const;

  const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const;
  int family() const { return storage_.ss_family; }

  /// Same family, address and port.
  bool operator==(const SocketAddress& other) const;

 private:
  sockaddr_storage storage_{};
};

/// "HOST:PORT" with brackets where the host holds a colon.
std::string format_endpoint(std::string_view host, int port);

/// True when this machine has the address (in this network namespace).
bool is_own_address(const SocketAddress& address);

}  // namespace distinit
