// SPDX-License-Identifier: Apache-2.0
#pragma once
// An endpoint as a value that can be compared and kept in containers; the text and the parsing are
// socket_address.h's. Numeric only.

#include "lib/base/socket_address.h"

#include <optional>
#include <string>
#include <string_view>

namespace distinit {

/// An IPv4 or IPv6 address and a port. IPv4-mapped IPv6 addresses are kept as IPv4.
class SocketAddress {
 public:
  SocketAddress() = default;
  /// From what the kernel gave; another family gives an address that is not valid().
  explicit SocketAddress(const sockaddr_storage& endpoint);
  /// From a numeric text; nullopt for anything else, names included.
  static std::optional<SocketAddress> parse(std::string_view host, int port);
  /// The two ends of a socket; not valid() when there is none.
  static SocketAddress peer_of(int fd);
  static SocketAddress local_of(int fd);

  bool valid() const { return storage_.ss_family != AF_UNSPEC; }
  /// The address without the port: "10.0.0.7", "fd00::7", "fe80::1%eth0".
  std::string host() const { return format_address(storage_); }
  int port() const { return port_of(storage_); }
  /// "10.0.0.7:23001", "[fd00::7]:23001".
  std::string text() const { return format_endpoint(storage_); }
  bool is_loopback() const { return distinit::is_loopback(storage_); }
  bool is_link_local() const;
  /// 0.0.0.0 or ::
  bool is_any() const;
  SocketAddress with_port(int port) const;

  const sockaddr_storage& storage() const { return storage_; }
  const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return address_length(storage_); }
  int family() const { return storage_.ss_family; }

  /// Same family, address and port.
  bool operator==(const SocketAddress& other) const { return text() == other.text(); }

 private:
  sockaddr_storage storage_{};
};

/// "HOST:PORT" with brackets where the host holds a colon.
std::string format_host_port(std::string_view host, int port);

/// True when this machine (its network namespace) has the address.
bool is_own_address(const SocketAddress& address);

}  // namespace distinit
