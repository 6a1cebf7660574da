// SPDX-License-Identifier: Apache-2.0
#include "lib/base/socket_address.h"

#include "lib/base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

namespace distinit {

namespace {

// sockaddr_storage is read through copies: a cast would break strict aliasing.
template <typename T>
T as(const sockaddr_storage& endpoint) {
  T out;
  memcpy(&out, &endpoint, sizeof out);
  return out;
}

template <typename T>
sockaddr_storage stored(const T& address) {
  sockaddr_storage out{};
  memcpy(&out, &address, sizeof address);
  return out;
}

// The scope of a link-local address: an interface's name or its index; 0 where there is none.
uint32_t parse_scope(const std::string& name) {
  if (const uint32_t index = if_nametoindex(name.c_str()); index != 0) {
    return index;
  }
  return static_cast<uint32_t>(parse_number(name, 1, INT32_MAX).value_or(0));
}

}  // namespace

Result<sockaddr_storage> parse_address(std::string_view address, int port) {
  const Error bad{ErrorCode::kUsage, concat("'", abbreviate(address), "' is not a numeric address"),
                  "write it as 10.0.0.1 or ::1", 0};
  std::string_view rest = address;
  if (rest.size() >= 2 && rest.front() == '[' && rest.back() == ']') {
    rest = rest.substr(1, rest.size() - 2);
  }
  const size_t percent = rest.find('%');
  const std::string number(rest.substr(0, percent));
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<uint16_t>(port));
  if (rest == address && percent == rest.npos &&
      inet_pton(AF_INET, number.c_str(), &v4.sin_addr) == 1) {
    return stored(v4);
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(static_cast<uint16_t>(port));
  if (inet_pton(AF_INET6, number.c_str(), &v6.sin6_addr) != 1) {
    return bad;
  }
  if (percent != rest.npos) {
    v6.sin6_scope_id = parse_scope(std::string(rest.substr(percent + 1)));
    if (v6.sin6_scope_id == 0) {
      return bad;
    }
  }
  return stored(v6);
}

sockaddr_storage unmapped(const sockaddr_storage& endpoint) {
  if (endpoint.ss_family != AF_INET6) {
    return endpoint;
  }
  const auto v6 = as<sockaddr_in6>(endpoint);
  if (!IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    return endpoint;
  }
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = v6.sin6_port;
  memcpy(&v4.sin_addr, &v6.sin6_addr.s6_addr[12], sizeof v4.sin_addr);
  return stored(v4);
}

std::string format_address(const sockaddr_storage& endpoint) {
  const sockaddr_storage plain = unmapped(endpoint);
  char text[INET6_ADDRSTRLEN];
  if (plain.ss_family == AF_INET) {
    const auto v4 = as<sockaddr_in>(plain);
    return inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
  }
  if (plain.ss_family != AF_INET6) {
    return "unknown";
  }
  const auto v6 = as<sockaddr_in6>(plain);
  const std::string number = inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  if (v6.sin6_scope_id == 0) {
    return number;
  }
  char name[IF_NAMESIZE];
  if (if_indextoname(v6.sin6_scope_id, name) != nullptr) {
    return concat(number, "%", name);
  }
  return concat(number, "%", v6.sin6_scope_id);
}

std::string format_endpoint(const sockaddr_storage& endpoint) {
  const std::string address = format_address(endpoint);
  const int port = port_of(endpoint);
  return address.find(':') == std::string::npos ? concat(address, ":", port)
                                                : concat("[", address, "]:", port);
}

int port_of(const sockaddr_storage& endpoint) {
  switch (endpoint.ss_family) {
    case AF_INET:
      return ntohs(as<sockaddr_in>(endpoint).sin_port);
    case AF_INET6:
      return ntohs(as<sockaddr_in6>(endpoint).sin6_port);
    default:
      return 0;
  }
}

bool is_loopback(const sockaddr_storage& endpoint) {
  const sockaddr_storage plain = unmapped(endpoint);
  if (plain.ss_family == AF_INET) {
    return ntohl(as<sockaddr_in>(plain).sin_addr.s_addr) >> 24 == 127;
  }
  const auto v6 = as<sockaddr_in6>(plain);
  return plain.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

socklen_t address_length(const sockaddr_storage& endpoint) {
  return endpoint.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

Result<SocketEnds> socket_ends(int fd) {
  SocketEnds ends;
  socklen_t length = sizeof ends.local;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&ends.local), &length) != 0) {
    return system_error(ErrorCode::kInternal, "can't read a socket's own address", errno);
  }
  length = sizeof ends.peer;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&ends.peer), &length) != 0) {
    return system_error(ErrorCode::kRendezvous, "can't read a socket's peer address", errno);
  }
  return ends;
}

}  // namespace distinit
