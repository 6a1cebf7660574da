// SPDX-License-Identifier: Apache-2.0
#include "lib/store/listen.h"

#include "lib/base/text.h"

#include <errno.h>
#include <netinet/in.h>

namespace distinit {

namespace {

// The kernel cuts it to net.core.somaxconn.
constexpr int kBacklog = 65'535;

Result<Fd> listen_at(const sockaddr_storage& endpoint, bool dual_stack) {
  const std::string text = format_endpoint(endpoint);
  Fd fd(socket(endpoint.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) {
    return system_error(ErrorCode::kRendezvous, concat("can't make a socket for ", text), errno);
  }
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (endpoint.ss_family == AF_INET6) {
    // The system's default (net.ipv6.bindv6only) is not ours to rely on.
    const int v6_only = dual_stack ? 0 : 1;
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof v6_only);
  }
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&endpoint), address_length(endpoint)) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    const int error = errno;
    return system_error(ErrorCode::kRendezvous, concat("can't listen on ", text), error,
                        error == EADDRINUSE ? "another program has the port: choose another" : "");
  }
  return fd;
}

bool is_no_ipv6(int error) {
  return error == EAFNOSUPPORT || error == EADDRNOTAVAIL || error == EPROTONOSUPPORT;
}

sockaddr_storage own_address(const Fd& socket) {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0) {
    return {};
  }
  return own;
}

}  // namespace

Result<Fd> listen_on(std::string_view address, int port) {
  if (!address.empty()) {
    DISTINIT_ASSIGN_OR_RETURN(const sockaddr_storage endpoint, parse_address(address, port));
    // "::" means every address for our users; a real one is IPv6 alone.
    return listen_at(endpoint, format_address(endpoint) == "::");
  }
  DISTINIT_ASSIGN_OR_RETURN(const sockaddr_storage any_v6, parse_address("::", port));
  auto dual = listen_at(any_v6, true);
  if (dual || !is_no_ipv6(dual.error().sys_errno)) {
    return dual;
  }
  DISTINIT_ASSIGN_OR_RETURN(const sockaddr_storage any_v4, parse_address("0.0.0.0", port));
  return listen_at(any_v4, false);
}

int bound_port(const Fd& socket) {
  return port_of(own_address(socket));
}

std::string bound_endpoint(const Fd& socket) {
  return format_endpoint(own_address(socket));
}

}  // namespace distinit
