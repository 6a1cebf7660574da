// SPDX-License-Identifier: Apache-2.0
#include "lib/spec/options.h"
#include "lib/spec/spec.h"

#include <criterion/criterion.h>

using namespace distinit;

Test(typed_options, are_the_defaults_where_nothing_is_said) {
  cr_assert(typed_options(Spec{}) == Options{});
  cr_assert(typed_options(*parse_spec("tp2,dp2,groups=tp-dp,expert.ep=2")) == Options{});
}

Test(typed_options, take_each_value) {
  const auto spec = parse_spec(
      "port=29500,ports=15000-15999,timeout=7,linger=0,torch.store=rank0,address=name,"
      "address.template=%n-ib0,interface=ib0,limit.nofile=max,limit.memlock=2G,limit.core=0,"
      "limit.stack=64K");
  cr_assert(spec.has_value());
  Options expected;
  expected.port = 29500;
  expected.port_low = 15000;
  expected.port_high = 15999;
  expected.timeout_s = 7;
  expected.linger_s = 0;
  expected.torch_store = TorchStore::kRank0;
  expected.address = AddressForm::kName;
  expected.address_template = "%n-ib0";
  expected.interface = "ib0";
  expected.limits = {
      {"core", 0}, {"memlock", uint64_t{2} << 30}, {"nofile", UINT64_MAX}, {"stack", 65536}};
  cr_assert(typed_options(*spec) == expected);
}

Test(typed_options, bind_what_is_named_and_nothing_else) {
  const auto bind = [](const char* text) { return typed_options(*parse_spec(text)).bind; };
  cr_assert(bind("dp") == (BindOption{true, true, true, false}));
  cr_assert(bind("bind=cpu") == (BindOption{true, false, false, false}));
  cr_assert(bind("bind=hca+gpu") == (BindOption{false, true, true, false}));
  cr_assert(bind("bind=memory") == (BindOption{false, false, false, true}));
  cr_assert(bind("bind=all") == (BindOption{true, true, true, true}));
  cr_assert(bind("bind=none") == (BindOption{false, false, false, false}));
}

Test(typed_options, take_the_options_of_the_nodes_topology) {
  const Options options = typed_options(
      *parse_spec("topology=/etc/distinit/%n.xml,hca.skip=mlx5_bond_0+mlx5_2:1,nccl.IB_SL=3,"
                  "nccl.IB_HCA==mlx5_0:1+mlx5_1:1"));
  cr_assert(options.topology == "/etc/distinit/%n.xml");
  cr_assert(options.skipped_hcas == (std::vector<std::string>{"mlx5_bond_0", "mlx5_2:1"}));
  const std::vector<std::pair<std::string, std::string>> nccl = {{"IB_HCA", "=mlx5_0:1,mlx5_1:1"},
                                                                 {"IB_SL", "3"}};
  cr_assert(options.nccl == nccl);
}

Test(typed_options, say_how_communicators_come_up) {
  const auto comms = [](const char* text) { return typed_options(*parse_spec(text)).comms; };
  cr_assert(comms("dp") == (CommsOption{true, false}));
  cr_assert(comms("comms=split") == (CommsOption{true, false}));
  cr_assert(comms("comms=ids") == (CommsOption{false, false}));
  cr_assert(comms("comms=preload") == (CommsOption{true, true}));
  cr_assert(comms("comms=preload+ids") == (CommsOption{false, true}));
}

Test(typed_options, say_what_the_check_does) {
  const auto check = [](const char* text) { return typed_options(*parse_spec(text)).check; };
  cr_assert(check("dp") == CheckOption{});
  cr_assert(check("dp").mode == CheckMode::kOff && check("dp").size == 64u << 20);
  cr_assert(check("check=off").mode == CheckMode::kOff);
  cr_assert(check("check=on").mode == CheckMode::kOn);
  const CheckOption all = check(
      "check=require,check.size=128K,check.min_busbw=12.5+tp-cp:200+world:0.25,"
      "check.report=/tmp/c.json");
  CheckOption expected;
  expected.mode = CheckMode::kRequire;
  expected.size = 131'072;
  expected.least_bandwidths = {{"", 12.5}, {"tp-cp", 200}, {"world", 0.25}};
  expected.report = "/tmp/c.json";
  cr_assert(all == expected);
}

Test(typed_options, read_limits_with_units) {
  cr_assert(parse_limit("max") == UINT64_MAX);
  cr_assert(parse_limit("4096") == 4096u);
  cr_assert(parse_limit("1K") == 1024u);
  cr_assert(parse_limit("3M") == 3u << 20);
  cr_assert(parse_limit("8589934591G") == uint64_t{8589934591} << 30);
  for (const char* text : {"", "M", "1k", "1T", "-1", "8589934592G", "9223372036854775808"}) {
    cr_assert(!parse_limit(text), "%s", text);
  }
}
