// SPDX-License-Identifier: Apache-2.0
#include "lib/rendezvous/address_choice.h"

#include "lib/base/host_address.h"

#include <algorithm>

#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

namespace distinit {

std::vector<std::string> reached_addresses(const std::map<int, Join>& joined) {
  std::map<std::string, int> counts;
  for (const auto& [group_rank, join] : joined) {
    if (!join.reached.empty()) {
      ++counts[join.reached];
    }
  }
  std::vector<std::string> hosts;
  for (const auto& [host, count] : counts) {
    hosts.push_back(host);
  }
  std::stable_sort(hosts.begin(), hosts.end(), [&](const std::string& a, const std::string& b) {
    return counts.at(a) > counts.at(b);
  });
  return hosts;
}

bool is_reached_by_all(const std::map<int, Join>& joined, const std::string& host) {
  return std::all_of(joined.begin(), joined.end(), [&](const auto& entry) {
    return entry.second.reached.empty() || entry.second.reached == host;
  });
}

bool is_name_of_this_host(std::string_view text, std::string_view node_name) {
  if (text.empty() || SocketAddress::parse(text, 0)) {
    return false;
  }
  char own[256] = {};
  gethostname(own, sizeof own - 1);
  const auto label = [](std::string_view name) { return name.substr(0, name.find('.')); };
  return label(text) == label(node_name) || label(text) == label(own);
}

std::string interface_address(const std::string& interface) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) {
    return {};
  }
  std::string best;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || interface != entry->ifa_name) {
      continue;
    }
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) {
      continue;
    }
    sockaddr_storage storage{};
    memcpy(&storage, entry->ifa_addr,
           family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    const SocketAddress address(storage);
    if (!address.is_link_local() &&
        (best.empty() || (family == AF_INET && best.find(':') != std::string::npos))) {
      best = address.host();
    }
  }
  freeifaddrs(list);
  return best;
}

}  // namespace distinit
