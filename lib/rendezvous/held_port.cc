// SPDX-License-Identifier: Apache-2.0
#include "lib/rendezvous/held_port.h"

#include "lib/base/host_address.h"
#include "lib/base/text.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace distinit {

Result<Fd> hold_port(int port) {
  int failure = 0;
  // Both families at once where the kernel has IPv6.
  for (const char* any : {"::", "0.0.0.0"}) {
    const auto address = SocketAddress::parse(any, port);
    Fd fd(::socket(address->family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    const int off = 0;
    if (fd.is_open()) {
      setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
      if (address->family() == AF_INET6) {
        setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
      }
    }
    if (fd.is_open() && bind(fd.get(), address->data(), address->size()) == 0) {
      return fd;
    }
    failure = errno;
  }
  return system_error(ErrorCode::kRendezvous, concat("can't hold port ", port), failure);
}

}  // namespace distinit
