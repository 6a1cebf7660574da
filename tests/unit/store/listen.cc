// SPDX-License-Identifier: Apache-2.0
#include "lib/store/listen.h"

#include "tests/unit/store/loopback.h"

#include <string>

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

using namespace distinit;

namespace {

// From now on this process lives on a kernel without IPv6.
void take_ipv6_away() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter{sizeof program / sizeof program[0], program};
  cr_assert(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  cr_assert(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0, "errno %d", errno);
}

}  // namespace

Test(listen, listens_on_one_address) {
  const auto v4 = listen_on("127.0.0.1", 0);
  cr_assert(v4 && bound_port(*v4) > 0);
  cr_assert(bound_endpoint(*v4) == "127.0.0.1:" + std::to_string(bound_port(*v4)));
  const auto v6 = listen_on("::1", 0);
  cr_assert(v6 && bound_endpoint(*v6) == "[::1]:" + std::to_string(bound_port(*v6)));
  cr_assert((fcntl(v4->get(), F_GETFL) & O_NONBLOCK) != 0);
  cr_assert((fcntl(v4->get(), F_GETFD) & FD_CLOEXEC) != 0);
}

Test(listen, takes_both_families_when_no_address_is_named) {
  for (const char* address : {"", "::"}) {
    const auto listening = listen_on(address, 0);
    cr_assert(listening.has_value());
    RawClient v4(bound_port(*listening), "127.0.0.1");
    RawClient v6(bound_port(*listening), "::1");
    cr_assert(v4.fd().is_open() && v6.fd().is_open());
  }
}

Test(listen, takes_ipv4_alone_where_the_kernel_has_no_ipv6) {
  take_ipv6_away();
  const auto listening = listen_on("", 0);
  cr_assert(listening.has_value(), "%s", listening ? "" : listening.error().what.c_str());
  cr_assert(bound_endpoint(*listening) == "0.0.0.0:" + std::to_string(bound_port(*listening)));
  RawClient v4(bound_port(*listening), "127.0.0.1");
  cr_assert(v4.fd().is_open());
}

Test(listen, names_a_port_that_is_taken) {
  const auto first = listen_on("127.0.0.1", 0);
  const int port = bound_port(*first);
  for (const char* address : {"127.0.0.1", "0.0.0.0", ""}) {
    const auto second = listen_on(address, port);
    cr_assert(!second && second.error().sys_errno == EADDRINUSE);
    cr_assert(second.error().code == ErrorCode::kRendezvous);
    cr_assert(second.error().what.find(":" + std::to_string(port)) != std::string::npos, "%s",
              second.error().what.c_str());
  }
}

Test(listen, takes_a_port_again_that_was_just_in_use) {
  auto first = listen_on("127.0.0.1", 0);
  const int port = bound_port(*first);
  RawClient client(port);
  // The server's end closes first, and stays in TIME_WAIT.
  Fd(accept(first->get(), nullptr, nullptr)).reset();
  first->reset();
  client.expect_closed();
  client.close();
  cr_assert(listen_on("127.0.0.1", port).has_value());
}

Test(listen, refuses_what_it_cannot_listen_on) {
  const auto name = listen_on("localhost", 0);
  cr_assert(!name && name.error().code == ErrorCode::kUsage);
  const auto foreign = listen_on("192.0.2.1", 0);
  cr_assert(!foreign && foreign.error().sys_errno == EADDRNOTAVAIL);
  cr_assert(foreign.error().what.find("192.0.2.1:0") != std::string::npos);
}

Test(listen, has_no_port_for_what_is_no_socket) {
  cr_assert(bound_port(Fd()) == 0);
}
