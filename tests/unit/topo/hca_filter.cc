// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/placement.h"

#include "tests/unit/expect_text.h"
#include "tests/unit/topo/machines.h"

#include <criterion/criterion.h>

using namespace distinit;

namespace {

const Gid kLinkLocal{0, "fe80:0000:0000:0000:0a00:27ff:fe00:0001", GidType::kRoceV2, "eth0"};
const Gid kAddress{3, "0000:0000:0000:0000:0000:ffff:0a14:0001", GidType::kRoceV2, "eth0"};

/// Ports on one host bridge; buses in the order of the names.
class Ports {
 public:
  Ports() {
    builder_.numa(0, 0, 4);
    root_ = builder_.host_bridge({0});
  }
  Hca& add(const std::string& name, LinkLayer link = LinkLayer::kInfiniBand) {
    const int number = count_++;
    return builder_.hca(root_, "0000:" + std::to_string(10 + number) + ":00.0", name, link);
  }
  Machine machine() { return builder_.finish(); }
  PciNode& device(const Hca& hca) {
    return builder_.draft().pci[static_cast<size_t>(hca.pci_node)];
  }
  /// "name: why" of each port that is not usable, in order.
  std::string dropped(const std::vector<std::string>& skipped = {}) {
    const Machine all = machine();
    const auto verdicts = judge_ports(all, skipped);
    std::string out;
    for (size_t i = 0; i < verdicts.size(); ++i) {
      cr_assert_eq(verdicts[i].usable, verdicts[i].why.empty());
      if (!verdicts[i].usable) {
        out += port_name(all.hcas[i]) + ": " + verdicts[i].why + "\n";
      }
    }
    return out;
  }
  std::string filter(const std::vector<std::string>& skipped = {}) {
    const Machine all = machine();
    return nccl_ib_hca(all, judge_ports(all, skipped));
  }

 private:
  MachineBuilder builder_;
  int root_ = 0;
  int count_ = 0;
};

}  // namespace

Test(hca_filter, ports_that_are_not_active_are_out) {
  Ports ports;
  ports.add("mlx5_0");
  ports.add("mlx5_1").state = PortState::kDown;
  ports.add("mlx5_2").state = PortState::kInit;
  ports.add("mlx5_3").state = PortState::kUnknown;
  EXPECT_TEXT(ports.dropped(),
              "mlx5_1:1: port is down\n"
              "mlx5_2:1: port is in state init: is a subnet manager running?\n");
  EXPECT_TEXT(ports.filter(), "=mlx5_0:1,mlx5_3:1");
}

Test(hca_filter, the_site_leaves_out_devices_and_ports_by_their_exact_names) {
  Ports ports;
  ports.add("mlx5_1");
  ports.add("mlx5_10");
  Hca& second = ports.add("mlx5_11");
  second.port = 2;
  EXPECT_TEXT(ports.dropped({"mlx5_1"}), "mlx5_1:1: left out by hca.skip\n");
  EXPECT_TEXT(ports.filter({"mlx5_1:1", "mlx5_11:1"}), "=mlx5_10:1,mlx5_11:2");
}

Test(hca_filter, virtual_functions_are_out_where_their_physical_function_is_there) {
  Ports ports;
  Hca& virtual_one = ports.add("mlx5_1");
  virtual_one.is_virtual = true;
  virtual_one.physical_function = bus("0000:11:00.0");
  EXPECT_TEXT(ports.dropped(), "");  // a virtual machine that has nothing else
  ports.add("mlx5_0");
  EXPECT_TEXT(ports.dropped(), "mlx5_1:1: virtual function of 0000:11:00.0\n");
}

Test(hca_filter, a_virtual_function_of_an_absent_device_stays) {
  Ports ports;
  Hca& virtual_one = ports.add("mlx5_1");
  virtual_one.is_virtual = true;
  virtual_one.physical_function = bus("0000:77:00.0");
  ports.add("mlx5_0");
  EXPECT_TEXT(ports.dropped(), "");
}

Test(hca_filter, what_no_program_can_open_is_out) {
  Ports ports;
  ports.add("mlx5_0");
  ports.add("mlx5_1").is_unlisted = true;
  Hca& soft = ports.add("rxe0", LinkLayer::kEthernet);
  soft.pci.reset();
  soft.pci_node = -1;
  const std::string dropped = ports.dropped();
  cr_assert_neq(dropped.find("rxe0:1: no PCI device (soft-RoCE)\n"), std::string::npos);
  cr_assert_neq(dropped.find("mlx5_1:1: not listed by libibverbs"), std::string::npos);
  EXPECT_TEXT(ports.filter(), "=mlx5_0:1");
}

Test(hca_filter, ethernet_beside_infiniband_is_out) {
  Ports ports;
  ports.add("mlx5_0", LinkLayer::kEthernet);
  ports.add("mlx5_1");
  ports.add("mlx5_2", LinkLayer::kUnknown);
  EXPECT_TEXT(ports.dropped(), "mlx5_0:1: ethernet; the fabric is infiniband\n");
}

Test(hca_filter, an_infiniband_port_that_is_down_makes_no_fabric) {
  Ports ports;
  ports.add("mlx5_0", LinkLayer::kEthernet);
  ports.add("mlx5_1").state = PortState::kDown;
  EXPECT_TEXT(ports.dropped(), "mlx5_1:1: port is down\n");
}

Test(hca_filter, slower_than_most_is_out) {
  Ports ports;
  ports.add("mlx5_0").rate_gbps = 100;
  ports.add("mlx5_1").rate_gbps = 200;
  ports.add("mlx5_2").rate_gbps = 200;
  ports.add("mlx5_3").rate_gbps = 400;
  ports.add("mlx5_4").rate_gbps = 0;
  EXPECT_TEXT(ports.dropped(), "mlx5_0:1: 100 Gb/s; the fabric has 200 Gb/s\n");
  Ports tie;
  tie.add("mlx5_0").rate_gbps = 100;
  tie.add("mlx5_1").rate_gbps = 200;
  EXPECT_TEXT(tie.dropped(), "mlx5_0:1: 100 Gb/s; the fabric has 200 Gb/s\n");
}

Test(hca_filter, roce_needs_a_gid_that_routes) {
  Ports ports;
  ports.add("mlx5_0", LinkLayer::kEthernet).gids = {kLinkLocal, kAddress};
  ports.add("mlx5_1", LinkLayer::kEthernet).gids = {kLinkLocal};
  ports.add("mlx5_2", LinkLayer::kEthernet);  // a file that tells no GIDs
  EXPECT_TEXT(ports.dropped(), std::string("mlx5_1:1: ") + std::string(kNoRoutableGid) + "\n");
}

Test(hca_filter, efa_speaks_between_link_local_gids) {
  Ports ports;
  Hca& efa = ports.add("rdmap16s27", LinkLayer::kEthernet);
  efa.gids = {kLinkLocal};
  ports.device(efa).vendor = 0x1d0f;
  EXPECT_TEXT(ports.dropped(), "");
}

Test(hca_filter, names_are_sorted_by_their_numbers_whatever_the_buses_are) {
  Ports ports;
  for (const char* name : {"mlx5_10", "mlx5_2", "mlx5_9"}) {
    ports.add(name);
  }
  EXPECT_TEXT(ports.filter(), "=mlx5_2:1,mlx5_9:1,mlx5_10:1");
}

Test(hca_filter, only_names_that_verbs_knows_are_in_nccls_list) {
  Ports slingshot;
  slingshot.add("hsi0", LinkLayer::kSlingshot);
  EXPECT_TEXT(slingshot.dropped(), "");
  EXPECT_TEXT(slingshot.filter(), "");
  Ports nameless;
  nameless.add("nic@0101:00:00.0");
  EXPECT_TEXT(nameless.filter(), "");
  cr_assert(usable_port_names(slingshot.machine(), judge_ports(slingshot.machine(), {})) ==
            std::vector<std::string>({"hsi0:1"}));
}
