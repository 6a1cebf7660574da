// SPDX-License-Identifier: Apache-2.0
#include "lib/base/socket_address.h"

#include "lib/base/fd.h"
#include "lib/base/text.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

namespace distinit {

namespace {

const sockaddr_in& as_v4(const sockaddr_storage& storage) {
  return reinterpret_cast<const sockaddr_in&>(storage);
}

const sockaddr_in6& as_v6(const sockaddr_storage& storage) {
  return reinterpret_cast<const sockaddr_in6&>(storage);
}

sockaddr_storage make_v4(in_addr address, in_port_t network_port) {
  sockaddr_storage storage{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
  v4.sin_family = AF_INET;
  v4.sin_addr = address;
  v4.sin_port = network_port;
  return storage;
}

}  // namespace

SocketAddress::SocketAddress(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    storage_ = make_v4(as_v4(address).sin_addr, as_v4(address).sin_port);
  } else if (address.ss_family == AF_INET6) {
    const sockaddr_in6& v6 = as_v6(address);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
      in_addr v4{};
      memcpy(&v4, &v6.sin6_addr.s6_addr[12], sizeof v4);
      storage_ = make_v4(v4, v6.sin6_port);
    } else {
      storage_ = address;
    }
  }
}

std::optional<SocketAddress> SocketAddress::parse(std::string_view host, int port) {
  sockaddr_storage storage{};
  std::string text(host);
  auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
  if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<uint16_t>(port));
    return SocketAddress(storage);
  }
  storage = {};
  auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
  if (const size_t percent = text.find('%'); percent != std::string::npos) {
    v6.sin6_scope_id = if_nametoindex(text.c_str() + percent + 1);
    if (v6.sin6_scope_id == 0) {
      return std::nullopt;
    }
    text.resize(percent);
  }
  if (inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) != 1) {
    return std::nullopt;
  }
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(static_cast<uint16_t>(port));
  return SocketAddress(storage);
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

std::string SocketAddress::host() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (storage_.ss_family == AF_INET) {
    inet_ntop(AF_INET, &as_v4(storage_).sin_addr, text, sizeof text);
    return text;
  }
  if (storage_.ss_family != AF_INET6) {
    return {};
  }
  const sockaddr_in6& v6 = as_v6(storage_);
  inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  char name[IF_NAMESIZE] = "";
  if (v6.sin6_scope_id != 0 && if_indextoname(v6.sin6_scope_id, name) != nullptr) {
    return concat(text, '%', name);
  }
  return text;
}

int SocketAddress::port() const {
  if (storage_.ss_family == AF_INET) {
    return ntohs(as_v4(storage_).sin_port);
  }
  return storage_.ss_family == AF_INET6 ? ntohs(as_v6(storage_).sin6_port) : 0;
}

std::string SocketAddress::text() const {
  return format_endpoint(host(), port());
}

bool SocketAddress::is_loopback() const {
  if (storage_.ss_family == AF_INET) {
    return ntohl(as_v4(storage_).sin_addr.s_addr) >> 24 == 127;
  }
  return storage_.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&as_v6(storage_).sin6_addr);
}

bool SocketAddress::is_link_local() const {
  if (storage_.ss_family == AF_INET) {
    return ntohl(as_v4(storage_).sin_addr.s_addr) >> 16 == 0xa9fe;
  }
  return storage_.ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&as_v6(storage_).sin6_addr);
}

bool SocketAddress::is_any() const {
  if (storage_.ss_family == AF_INET) {
    return as_v4(storage_).sin_addr.s_addr == INADDR_ANY;
  }
  return storage_.ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&as_v6(storage_).sin6_addr);
}

SocketAddress SocketAddress::with_port(int port) const {
  SocketAddress other = *this;
  if (storage_.ss_family == AF_INET) {
    reinterpret_cast<sockaddr_in&>(other.storage_).sin_port = htons(static_cast<uint16_t>(port));
  } else if (storage_.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(other.storage_).sin6_port = htons(static_cast<uint16_t>(port));
  }
  return other;
}

socklen_t SocketAddress::size() const {
  return storage_.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

bool SocketAddress::operator==(const SocketAddress& other) const {
  return text() == other.text();
}

std::string format_endpoint(std::string_view host, int port) {
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
