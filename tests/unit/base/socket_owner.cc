// SPDX-License-Identifier: Apache-2.0
#include "lib/base/socket_owner.h"

#include "lib/base/fd.h"
#include "lib/base/socket_address.h"

#include <criterion/criterion.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace distinit;

namespace {

struct Pair {
  Fd listener;
  Fd client;
  Fd accepted;
};

sockaddr_storage address(const char* text, int port) {
  auto parsed = parse_address(text, port);
  cr_assert(parsed.has_value());
  return *parsed;
}

Pair connect_pair(const char* listen_at, const char* connect_to) {
  const sockaddr_storage at = address(listen_at, 0);
  Pair pair{Fd(socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)), Fd(), Fd()};
  const int off = 0;
  if (at.ss_family == AF_INET6) {
    setsockopt(pair.listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  cr_assert(bind(pair.listener.get(), reinterpret_cast<const sockaddr*>(&at), address_length(at)) ==
            0);
  cr_assert(listen(pair.listener.get(), 8) == 0);
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  getsockname(pair.listener.get(), reinterpret_cast<sockaddr*>(&bound), &length);
  const sockaddr_storage to = address(connect_to, port_of(bound));
  pair.client = Fd(socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  cr_assert(
      connect(pair.client.get(), reinterpret_cast<const sockaddr*>(&to), address_length(to)) == 0);
  pair.accepted = Fd(accept(pair.listener.get(), nullptr, nullptr));
  cr_assert(pair.accepted.is_open());
  return pair;
}

Result<uid_t> owner_of_peer(const Pair& pair) {
  const auto ends = socket_ends(pair.accepted.get());
  cr_assert(ends.has_value());
  return socket_owner(ends->peer, ends->local);
}

void expect_own(const char* listen_at, const char* connect_to) {
  const Pair pair = connect_pair(listen_at, connect_to);
  const auto owner = owner_of_peer(pair);
  cr_assert(owner.has_value(), "%s", owner ? "" : owner.error().what.c_str());
  cr_assert(*owner == getuid());
}

}  // namespace

Test(socket_owner, finds_an_ipv4_socket) {
  expect_own("127.0.0.1", "127.0.0.1");
}

Test(socket_owner, finds_an_ipv6_socket) {
  expect_own("::1", "::1");
}

Test(socket_owner, finds_an_ipv4_client_of_a_dual_stack_listener) {
  expect_own("::", "127.0.0.1");
}

Test(socket_owner, finds_a_client_that_speaks_ipv4_over_ipv6) {
  expect_own("127.0.0.1", "::ffff:127.0.0.1");
  expect_own("::", "::ffff:127.0.0.1");
}

Test(socket_owner, tells_another_user) {
  if (geteuid() != 0) {
    cr_skip("needs root to become another user");
  }
  const Pair pair = connect_pair("127.0.0.1", "127.0.0.1");
  const auto bound = socket_ends(pair.client.get());
  const pid_t child = fork();
  if (child == 0) {
    // The uid counts when the socket is made.
    Fd client;
    if (setuid(65534) == 0) {
      client = Fd(socket(AF_INET, SOCK_STREAM, 0));
      connect(client.get(), reinterpret_cast<const sockaddr*>(&bound->peer),
              address_length(bound->peer));
    }
    pause();
    _exit(0);
  }
  const Fd accepted(accept(pair.listener.get(), nullptr, nullptr));
  const auto ends = socket_ends(accepted.get());
  const auto owner = socket_owner(ends->peer, ends->local);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  cr_assert(owner.has_value(), "%s", owner ? "" : owner.error().what.c_str());
  cr_assert(*owner == 65534);
}

Test(socket_owner, has_no_owner_after_the_program_closed_it) {
  Pair pair = connect_pair("127.0.0.1", "127.0.0.1");
  const auto ends = socket_ends(pair.accepted.get());
  pair.client.reset();  // FIN_WAIT2: the kernel still knows the pair, and reports uid 0
  const auto orphaned = socket_owner(ends->peer, ends->local);
  cr_assert(!orphaned.has_value());
  cr_assert(orphaned.error().what.find(format_endpoint(ends->peer)) != std::string::npos);
  pair.accepted.reset();  // TIME_WAIT
  cr_assert(!socket_owner(ends->peer, ends->local).has_value());
}

Test(socket_owner, does_not_take_a_listener_for_the_connection) {
  const Pair pair = connect_pair("127.0.0.1", "127.0.0.1");
  const auto ends = socket_ends(pair.accepted.get());
  // The listener's own address and a peer that is connected to nothing.
  const sockaddr_storage stranger = address("127.0.0.1", 1);
  cr_assert(!socket_owner(ends->local, stranger).has_value());
}
