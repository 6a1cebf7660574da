// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.h"
#include "lib/topo/placement.h"

#include <algorithm>
#include <map>

#include <string.h>

namespace distinit {

namespace {

bool is_verbs(const Hca& hca) {
  return hca.link != LinkLayer::kSlingshot;
}

bool is_up(const Hca& hca) {
  return hca.state == PortState::kActive || hca.state == PortState::kUnknown;
}

/// Amazon's EFA shows an Ethernet function, and speaks a protocol of its own between link-local
/// GIDs.
bool is_roce(const Machine& machine, const Hca& hca) {
  constexpr uint16_t kAmazon = 0x1d0f;
  return hca.link == LinkLayer::kEthernet &&
         (hca.pci_node < 0 || machine.pci[static_cast<size_t>(hca.pci_node)].vendor != kAmazon);
}

std::string why_not_up(const Hca& hca) {
  if (hca.state == PortState::kDown) {
    return "port is down";
  }
  return concat("port is in state ", state_text(hca.state),
                hca.link == LinkLayer::kInfiniBand ? ": is a subnet manager running?" : "");
}

/// The judging of all ports: each step drops some, by what is left of them.
class Judge {
 public:
  explicit Judge(const Machine& machine)
      : hcas_(machine.hcas), verdicts_(machine.hcas.size(), PortVerdict{true, {}}) {}

  template <typename Reason>
  void drop_where(const Reason& reason) {
    for (size_t i = 0; i < hcas_.size(); ++i) {
      if (!verdicts_[i].usable) {
        continue;
      }
      if (std::string why = reason(hcas_[i]); !why.empty()) {
        verdicts_[i] = PortVerdict{false, std::move(why)};
      }
    }
  }

  template <typename Predicate>
  bool any_left(const Predicate& predicate) const {
    for (size_t i = 0; i < hcas_.size(); ++i) {
      if (verdicts_[i].usable && predicate(hcas_[i])) {
        return true;
      }
    }
    return false;
  }

  /// The rate that most ports have; the higher one of two that as many have. 0: none is known.
  int usual_rate() const {
    std::map<int, int> counts;
    for (size_t i = 0; i < hcas_.size(); ++i) {
      if (verdicts_[i].usable && hcas_[i].rate_gbps > 0) {
        ++counts[hcas_[i].rate_gbps];
      }
    }
    int usual = 0;
    for (const auto& [rate, count] : counts) {
      if (usual == 0 || count >= counts[usual]) {
        usual = rate;
      }
    }
    return usual;
  }

  std::vector<PortVerdict> take() { return std::move(verdicts_); }

 private:
  const std::vector<Hca>& hcas_;
  std::vector<PortVerdict> verdicts_;
};

/// Ethernet ports of a machine that has InfiniBand are mostly for management or storage.
LinkLayer fabric_link(const Judge& judge) {
  for (const LinkLayer link :
       {LinkLayer::kInfiniBand, LinkLayer::kSlingshot, LinkLayer::kEthernet}) {
    if (judge.any_left([link](const Hca& hca) { return hca.link == link; })) {
      return link;
    }
  }
  return LinkLayer::kUnknown;
}

/// mlx5_2 before mlx5_10: digits by their number.
bool natural_less(const Hca* a, const Hca* b) {
  const int order = strverscmp(a->name.c_str(), b->name.c_str());
  return order != 0 ? order < 0 : a->port < b->port;
}

std::vector<const Hca*> usable_sorted(const Machine& machine,
                                      const std::vector<PortVerdict>& verdicts) {
  std::vector<const Hca*> ports;
  for (size_t i = 0; i < machine.hcas.size(); ++i) {
    if (verdicts[i].usable) {
      ports.push_back(&machine.hcas[i]);
    }
  }
  std::sort(ports.begin(), ports.end(), natural_less);
  return ports;
}

}  // namespace

std::vector<PortVerdict> judge_ports(const Machine& machine,
                                     const std::vector<std::string>& skipped) {
  Judge judge(machine);
  judge.drop_where([](const Hca& hca) { return is_up(hca) ? std::string() : why_not_up(hca); });
  judge.drop_where([&skipped](const Hca& hca) -> std::string {
    const bool named = std::any_of(skipped.begin(), skipped.end(), [&hca](const std::string& name) {
      return name == hca.name || name == port_name(hca);
    });
    return named ? "left out by hca.skip" : "";
  });
  if (judge.any_left([](const Hca& hca) { return !hca.is_virtual; })) {
    judge.drop_where([&machine](const Hca& hca) -> std::string {
      if (!hca.is_virtual || !hca.physical_function) {
        return "";
      }
      const bool has_physical =
          std::any_of(machine.hcas.begin(), machine.hcas.end(), [&hca](const Hca& other) {
            return !other.is_virtual && other.pci == hca.physical_function;
          });
      return has_physical
                 ? concat("virtual function of ", format_pci_address(*hca.physical_function))
                 : "";
    });
  }
  judge.drop_where(
      [](const Hca& hca) -> std::string { return hca.pci ? "" : "no PCI device (soft-RoCE)"; });
  judge.drop_where([](const Hca& hca) -> std::string {
    return hca.is_unlisted ? "not listed by libibverbs: no /dev/infiniband/uverbs of it?" : "";
  });
  const LinkLayer fabric = fabric_link(judge);
  judge.drop_where([fabric](const Hca& hca) -> std::string {
    return hca.link == fabric || hca.link == LinkLayer::kUnknown
               ? ""
               : concat(link_text(hca.link), "; the fabric is ", link_text(fabric));
  });
  const int rate = judge.usual_rate();
  judge.drop_where([rate](const Hca& hca) -> std::string {
    return hca.rate_gbps == 0 || hca.rate_gbps >= rate
               ? ""
               : concat(hca.rate_gbps, " Gb/s; the fabric has ", rate, " Gb/s");
  });
  judge.drop_where([&machine](const Hca& hca) -> std::string {
    const bool needs_gid = is_roce(machine, hca) && !hca.gids.empty();
    return needs_gid && !routable_gid(hca) ? std::string(kNoRoutableGid) : "";
  });
  return judge.take();
}

std::vector<std::string> usable_port_names(const Machine& machine,
                                           const std::vector<PortVerdict>& verdicts) {
  std::vector<std::string> names;
  for (const Hca* hca : usable_sorted(machine, verdicts)) {
    names.push_back(port_name(*hca));
  }
  return names;
}

std::string nccl_ib_hca(const Machine& machine, const std::vector<PortVerdict>& verdicts) {
  std::string out;
  for (const Hca* hca : usable_sorted(machine, verdicts)) {
    // A file without device names has made up ones.
    if (is_verbs(*hca) && hca->name.find('@') == std::string::npos) {
      out += concat(out.empty() ? "=" : ",", port_name(*hca));
    }
  }
  return out;
}

}  // namespace distinit
