// SPDX-License-Identifier: Apache-2.0
#include "lib/launch/node_socket.h"

#include "lib/base/text.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace distinit {

namespace {

/// The kernel lowers it to net.core.somaxconn (4096 since Linux 5.4).
constexpr int kBacklog = 65535;

struct Address {
  sockaddr_un un{};
  socklen_t size = 0;
};

Address abstract_address(const std::string& name) {
  Address address;
  address.un.sun_family = AF_UNIX;
  memcpy(address.un.sun_path + 1, name.data(), name.size());
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

const sockaddr* generic(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address.un);
}

Error failed(std::string_view what) {
  return system_error(ErrorCode::kInternal, concat("can't ", what, " the node's socket"), errno,
                      errno == EMFILE || errno == ENFILE
                          ? "raise the limit of open files of slurmd on this node"
                          : "");
}

bool is_open_as(const NodeSocket& socket) {
  const Address expected = abstract_address(socket.name);
  sockaddr_un actual{};
  socklen_t size = sizeof actual;
  return getsockname(socket.listener.get(), reinterpret_cast<sockaddr*>(&actual), &size) == 0 &&
         size == expected.size && memcmp(&actual, &expected.un, size) == 0;
}

Result<Fd> connect_by_name(const std::string& name) {
  Fd out(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!out.is_open()) {
    return failed("open");
  }
  const Address address = abstract_address(name);
  if (connect(out.get(), generic(address), address.size) != 0) {
    return failed("connect to");
  }
  return out;
}

}  // namespace

Result<NodeSocket> open_node_socket() {
  char random[16];
  if (getrandom(random, sizeof random, 0) != sizeof random) {
    return failed("name");
  }
  return open_node_socket(concat("distinit-", to_hex(std::string_view(random, sizeof random))));
}

Result<NodeSocket> open_node_socket(std::string name) {
  NodeSocket out;
  out.name = std::move(name);
  out.listener = Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Address address = abstract_address(out.name);
  if (!out.listener.is_open()) {
    return failed("open");
  }
  if (bind(out.listener.get(), generic(address), address.size) != 0) {
    return failed("bind");
  }
  if (listen(out.listener.get(), kBacklog) != 0) {
    return failed("listen on");
  }
  return out;
}

Result<Fd> connect_node_socket(const NodeSocket& node) {
  if (!is_open_as(node)) {
    return Error{ErrorCode::kInternal, "the node's socket did not reach this task",
                 "SlurmdParameters=contain_spank in slurm.conf keeps it away: remove that", 0};
  }
  return connect_by_name(node.name);
}

Result<Fd> connect_node_socket(const std::string& name) {
  DISTINIT_ASSIGN_OR_RETURN(Fd out, connect_by_name(name));
  ucred listener{};
  socklen_t size = sizeof listener;
  if (getsockopt(out.get(), SOL_SOCKET, SO_PEERCRED, &listener, &size) != 0 ||
      listener.uid != geteuid()) {
    return Error{
        ErrorCode::kRendezvous,
        concat("the socket @", name, " on this node is another user's (uid ", listener.uid, ")"),
        "that user's process is in the way: tell an administrator", 0};
  }
  return out;
}

}  // namespace distinit
