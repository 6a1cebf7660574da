// SPDX-License-Identifier: Apache-2.0
#include "lib/base/socket_owner.h"

#include "lib/base/fd.h"
#include "lib/base/socket_address.h"
#include "lib/base/text.h"

#include <optional>

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

namespace distinit {

namespace {

struct Query {
  nlmsghdr header;
  inet_diag_req_v2 request;
};

struct End {
  __be32 address[4] = {};
  __be16 port = 0;
  uint32_t scope = 0;
};

// An IPv6 query carries IPv4 addresses mapped, an IPv4 query has them in the first word.
End end_for(const sockaddr_storage& endpoint, int family) {
  End end;
  if (endpoint.ss_family == AF_INET6) {
    sockaddr_in6 v6;
    memcpy(&v6, &endpoint, sizeof v6);
    memcpy(end.address, &v6.sin6_addr, sizeof end.address);
    end.port = v6.sin6_port;
    end.scope = v6.sin6_scope_id;
    return end;
  }
  sockaddr_in v4;
  memcpy(&v4, &endpoint, sizeof v4);
  end.port = v4.sin_port;
  end.address[family == AF_INET ? 0 : 3] = v4.sin_addr.s_addr;
  if (family == AF_INET6) {
    end.address[2] = htonl(0xffff);
  }
  return end;
}

Query make_query(const End& own, const End& peer, int family) {
  Query query{};
  query.header.nlmsg_len = sizeof query;
  query.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  query.header.nlmsg_flags = NLM_F_REQUEST;
  query.request.sdiag_family = static_cast<__u8>(family);
  query.request.sdiag_protocol = IPPROTO_TCP;
  query.request.idiag_states = ~__u32{0};
  query.request.id.idiag_sport = own.port;
  query.request.id.idiag_dport = peer.port;
  memcpy(query.request.id.idiag_src, own.address, sizeof own.address);
  memcpy(query.request.id.idiag_dst, peer.address, sizeof peer.address);
  query.request.id.idiag_if = own.scope;
  query.request.id.idiag_cookie[0] = static_cast<__u32>(INET_DIAG_NOCOOKIE);
  query.request.id.idiag_cookie[1] = static_cast<__u32>(INET_DIAG_NOCOOKIE);
  return query;
}

// The kernel falls back to a listening socket when the pair is unknown, and reports uid 0 for a
// socket that no program holds any more (TIME_WAIT, FIN_WAIT after close): neither is an owner.
bool is_held_connection(const inet_diag_msg& message, const Query& query) {
  return message.idiag_state != TCP_LISTEN && message.idiag_inode != 0 &&
         message.id.idiag_sport == query.request.id.idiag_sport &&
         message.id.idiag_dport == query.request.id.idiag_dport;
}

// The owner, nullopt when there is no such socket, an Error when the kernel cannot be asked.
Result<std::optional<uid_t>> ask(int netlink, const Query& query) {
  if (send(netlink, &query, sizeof query, 0) < 0) {
    return system_error(ErrorCode::kRendezvous, "can't ask the kernel who owns a socket", errno);
  }
  alignas(nlmsghdr) char reply[8192];
  ssize_t count;
  do {
    count = recv(netlink, reply, sizeof reply, 0);
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    return system_error(ErrorCode::kRendezvous, "can't ask the kernel who owns a socket", errno);
  }
  nlmsghdr header;
  const auto size = static_cast<size_t>(count);
  if (size < sizeof header) {
    return std::optional<uid_t>();
  }
  memcpy(&header, reply, sizeof header);
  if (header.nlmsg_type == NLMSG_ERROR && size >= NLMSG_HDRLEN + sizeof(nlmsgerr)) {
    nlmsgerr failure;
    memcpy(&failure, reply + NLMSG_HDRLEN, sizeof failure);
    if (failure.error == -ENOENT) {
      return std::optional<uid_t>();
    }
    return system_error(ErrorCode::kRendezvous, "can't ask the kernel who owns a socket",
                        -failure.error, "the kernel module tcp_diag may be missing");
  }
  inet_diag_msg message;
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || size < NLMSG_HDRLEN + sizeof message) {
    return std::optional<uid_t>();
  }
  memcpy(&message, reply + NLMSG_HDRLEN, sizeof message);
  return is_held_connection(message, query) ? std::optional<uid_t>(message.idiag_uid)
                                            : std::nullopt;
}

}  // namespace

Result<uid_t> socket_owner(const sockaddr_storage& local_end_of_peer,
                           const sockaddr_storage& its_peer) {
  const sockaddr_storage own = unmapped(local_end_of_peer);
  const sockaddr_storage peer = unmapped(its_peer);
  const Fd netlink(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!netlink.is_open()) {
    return system_error(ErrorCode::kRendezvous, "can't open a sock_diag socket", errno);
  }
  // An IPv6 socket that speaks IPv4 is found under IPv4 by today's kernels; the mapped form is for
  // those that keep the families apart.
  for (const int family : {AF_INET, AF_INET6}) {
    if (family == AF_INET && (own.ss_family != AF_INET || peer.ss_family != AF_INET)) {
      continue;
    }
    const Query query = make_query(end_for(own, family), end_for(peer, family), family);
    DISTINIT_ASSIGN_OR_RETURN(const std::optional<uid_t> owner, ask(netlink.get(), query));
    if (owner) {
      return *owner;
    }
  }
  return Error{ErrorCode::kRendezvous,
               concat("no program here holds the socket ", format_endpoint(local_end_of_peer),
                      " connected to ", format_endpoint(its_peer)),
               {},
               0};
}

}  // namespace distinit
