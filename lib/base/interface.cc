// SPDX-License-Identifier: Apache-2.0
#include "lib/base/interface.h"

#include "lib/base/fd.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

namespace distinit {

namespace {

/// Not valid() for anything but IPv4 and IPv6.
SocketAddress address_of(const ifaddrs& entry) {
  sockaddr_storage storage{};
  if (entry.ifa_addr != nullptr && entry.ifa_addr->sa_family == AF_INET) {
    memcpy(&storage, entry.ifa_addr, sizeof(sockaddr_in));
  } else if (entry.ifa_addr != nullptr && entry.ifa_addr->sa_family == AF_INET6) {
    memcpy(&storage, entry.ifa_addr, sizeof(sockaddr_in6));
  } else {
    return {};
  }
  return SocketAddress(storage);
}

}  // namespace

std::string interface_towards(const SocketAddress& address) {
  // Connecting a datagram socket sends nothing: it makes the kernel choose the way (udp(7)).
  const Fd fd(socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const SocketAddress target = address.with_port(address.port() == 0 ? 9 : address.port());
  if (!fd.is_open() || connect(fd.get(), target.data(), target.size()) != 0) {
    return {};
  }
  const SocketAddress own = SocketAddress::local_of(fd.get());
  // All of 127.0.0.0/8 is the loopback interface's, and 127.0.0.1 alone is listed.
  if (own.is_loopback()) {
    return "lo";
  }
  ifaddrs* list = nullptr;
  if (!own.valid() || getifaddrs(&list) != 0) {
    return {};
  }
  std::string name;
  for (const ifaddrs* entry = list; entry != nullptr && name.empty(); entry = entry->ifa_next) {
    if (const SocketAddress held = address_of(*entry); held.valid() && held.host() == own.host()) {
      name = entry->ifa_name;
    }
  }
  freeifaddrs(list);
  return name;
}

}  // namespace distinit
