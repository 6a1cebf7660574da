// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.h"
#include "lib/topo/placement.h"

namespace distinit {

namespace {

bool is_zero(const std::string& text) {
  return text.find_first_not_of("0:") == std::string::npos;
}

/// fe80::/10, made from the MAC.
bool is_link_local(const std::string& text) {
  return text.starts_with("fe8") || text.starts_with("fe9") || text.starts_with("fea") ||
         text.starts_with("feb");
}

/// ::ffff:a.b.c.d
bool is_ipv4(const std::string& text) {
  return text.starts_with("0000:0000:0000:0000:0000:ffff:");
}

/// Greater is better; 0 does not route. NCCL by default wants IPv4, then RoCE v2.
int rank_of(const Gid& gid) {
  if (is_zero(gid.text) || is_link_local(gid.text)) {
    return 0;
  }
  return 1 + (gid.type == GidType::kRoceV2 ? 1 : 0) + (is_ipv4(gid.text) ? 2 : 0);
}

}  // namespace

// Where a port has no IPv4, NCCL stays at index 0, which is link-local, unless
// NCCL_IB_ADDR_FAMILY=AF_INET6 is set. The IPv6 one is returned then: the fabric routes it, and
// other libraries find it.
std::optional<Gid> routable_gid(const Hca& hca) {
  const Gid* best = nullptr;
  for (const Gid& gid : hca.gids) {
    if (rank_of(gid) > (best == nullptr ? 0 : rank_of(*best))) {
      best = &gid;
    }
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

}  // namespace distinit
