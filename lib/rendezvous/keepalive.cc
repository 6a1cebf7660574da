// SPDX-License-Identifier: Apache-2.0
#include "lib/rendezvous/keepalive.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace distinit {

namespace {

void set_number(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof value);
}

}  // namespace

void keep_link_alive(int fd) {
  set_number(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_number(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_number(fd, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set_number(fd, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set_number(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
  // The same limit for data that is not acknowledged, in milliseconds.
  set_number(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 80'000);
}

bool is_network_loss(int sys_errno) {
  return sys_errno == ETIMEDOUT || sys_errno == EHOSTUNREACH || sys_errno == ENETUNREACH ||
         sys_errno == ENETDOWN || sys_errno == EHOSTDOWN;
}

}  // namespace distinit
