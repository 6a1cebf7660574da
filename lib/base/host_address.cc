// SPDX-License-Identifier: Apache-2.0
#include "lib/base/host_address.h"

#include "lib/base/fd.h"
#include "lib/base/text.h"

#include <netinet/in.h>

namespace distinit {

namespace {

const in_addr& as_v4(const sockaddr_storage& storage) {
  return reinterpret_cast<const sockaddr_in&>(storage).sin_addr;
}

const in6_addr& as_v6(const sockaddr_storage& storage) {
  return reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr;
}

}  // namespace

SocketAddress::SocketAddress(const sockaddr_storage& endpoint) {
  if (endpoint.ss_family == AF_INET || endpoint.ss_family == AF_INET6) {
    storage_ = unmapped(endpoint);
  }
}

std::optional<SocketAddress> SocketAddress::parse(std::string_view host, int port) {
  const auto endpoint = parse_address(host, port);
  if (!endpoint) {
    return std::nullopt;
  }
  return SocketAddress(*endpoint);
}

SocketAddress SocketAddress::peer_of(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  return getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &size) == 0 ? SocketAddress(storage)
                                                                            : SocketAddress();
}

SocketAddress SocketAddress::local_of(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  return getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) == 0 ? SocketAddress(storage)
                                                                            : SocketAddress();
}

bool SocketAddress::is_link_local() const {
  if (family() == AF_INET) {
    return ntohl(as_v4(storage_).s_addr) >> 16 == 0xa9fe;
  }
  return family() == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&as_v6(storage_));
}

bool SocketAddress::is_any() const {
  if (family() == AF_INET) {
    return as_v4(storage_).s_addr == INADDR_ANY;
  }
  return family() == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&as_v6(storage_));
}

SocketAddress SocketAddress::with_port(int port) const {
  SocketAddress other = *this;
  // sin_port and sin6_port lie at the same place.
  if (valid()) {
    reinterpret_cast<sockaddr_in&>(other.storage_).sin_port = htons(static_cast<uint16_t>(port));
  }
  return other;
}

std::string format_host_port(std::string_view host, int port) {
  return host.find(':') == std::string_view::npos ? concat(host, ':', port)
                                                  : concat('[', host, "]:", port);
}

bool is_own_address(const SocketAddress& address) {
  const Fd fd(::socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const SocketAddress any_port = address.with_port(0);
  // The kernel binds only to addresses that it has.
  return fd.is_open() && !address.is_any() && bind(fd.get(), any_port.data(), any_port.size()) == 0;
}

}  // namespace distinit
