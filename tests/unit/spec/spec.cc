// SPDX-License-Identifier: Apache-2.0
#include "lib/spec/spec.h"

#include "lib/base/text.h"
#include "lib/spec/dimensions.h"
#include "lib/spec/options.h"

#include <criterion/criterion.h>

#include <chrono>
#include <random>

using namespace distinit;

namespace {

Spec spec_of(std::string_view text) {
  const auto spec = parse_spec(text);
  cr_assert(spec.has_value(), "%s: %s", std::string(text).c_str(), spec.error().what.c_str());
  return *spec;
}

Error error_of(std::string_view text) {
  const auto spec = parse_spec(text);
  cr_assert(!spec.has_value(), "'%s' was accepted", std::string(text).c_str());
  cr_assert(spec.error().code == ErrorCode::kSpec, "%s", std::string(text).c_str());
  return spec.error();
}

struct Refusal {
  const char* spec;
  const char* what;
  const char* hint;
};

void expect_refusals(std::initializer_list<Refusal> cases) {
  for (const Refusal& c : cases) {
    const Error error = error_of(c.spec);
    cr_assert(error.what == c.what, "'%s': %s", c.spec, error.what.c_str());
    cr_assert(error.hint == c.hint, "'%s': %s", c.spec, error.hint.c_str());
  }
}

}  // namespace

Test(spec, reads_dimensions_in_their_order) {
  cr_assert(spec_of("tp2,dp2").dims == (std::vector<Dimension>{{"tp", 2}, {"dp", 2}}));
  cr_assert(spec_of("pp4,tp1000000,dp").dims ==
            (std::vector<Dimension>{{"pp", 4}, {"tp", 1000000}, {"dp", 0}}));
  cr_assert(spec_of("dp").dims == (std::vector<Dimension>{{"dp", 0}}));
}

Test(spec, takes_names_that_nobody_knows) {
  cr_assert(spec_of("stage4,x2,my_dim3").dims ==
            (std::vector<Dimension>{{"stage", 4}, {"x", 2}, {"my_dim", 3}}));
}

Test(spec, takes_every_known_name) {
  for (const DimensionHelp& known : known_dimensions()) {
    const Spec spec = spec_of(concat(known.name, 2));
    cr_assert(spec.dims == (std::vector<Dimension>{{std::string(known.name), 2}}));
  }
}

Test(spec, reads_options) {
  const Spec spec = spec_of("tp2,timeout=60,dp,torch.store=rank0,groups=tp-dp,expert.ep=4");
  cr_assert(spec.dims == (std::vector<Dimension>{{"tp", 2}, {"dp", 0}}));
  cr_assert(
      spec.options ==
      (decltype(spec.options){
          {"timeout", "60"}, {"torch.store", "rank0"}, {"groups", "tp-dp"}, {"expert.ep", "4"}}));
}

Test(spec, names_the_nearest_dimension) {
  expect_refusals({
      {"tpp2", "unknown dimension 'tpp' in 'tpp2'", "did you mean 'tp2'?"},
      {"tp2,td2", "unknown dimension 'td' in 'td2'", "did you mean 'tp2'?"},
      {"pd4", "unknown dimension 'pd' in 'pd4'", "did you mean 'dp4'?"},
      {"fdsp", "unknown dimension 'fdsp' in 'fdsp'", "did you mean 'fsdp'?"},
      {"TP2", "dimension 'TP2' is not in lower case", "did you mean 'tp2'?"},
      {"Tp2", "dimension 'Tp2' is not in lower case", "did you mean 'tp2'?"},
      {"2tp", "size before the name in '2tp'", "did you mean 'tp2'?"},
  });
}

Test(spec, names_the_bad_size) {
  const char* const hint =
      "a size is a whole number from 1 to 1000000; without one ('tp') it is what is left of the "
      "world size";
  expect_refusals({
      {"tp0", "bad size '0' in 'tp0'", hint},
      {"tp-2", "bad size '-2' in 'tp-2'", hint},
      {"tp2.5", "bad size '2.5' in 'tp2.5'", hint},
      {"tp1000001", "bad size '1000001' in 'tp1000001'", hint},
      {"tp99999999999", "bad size '99999999999' in 'tp99999999999'", hint},
      {"tp99999999999999999999999",
       "bad size '99999999999999999999999' in "
       "'tp99999999999999999999999'",
       hint},
      {"dp2,tp2x", "bad size '2x' in 'tp2x'", hint},
  });
}

Test(spec, refuses_what_is_no_item) {
  expect_refusals({
      {"", "empty SPEC", "name the mesh, such as tp2,dp2; 'dp' alone is one group of all ranks"},
      {"tp2,,dp2", "empty item in 'tp2,,dp2'",
       "there is a comma too many: items are separated by single commas (tp2,dp2)"},
      {"tp2,", "empty item in 'tp2,'",
       "there is a comma too many: items are separated by single commas (tp2,dp2)"},
      {",", "empty item in ','",
       "there is a comma too many: items are separated by single commas (tp2,dp2)"},
      {"tp2, dp2", "blank in ' dp2'", "write the SPEC without blanks: tp2,dp2"},
      {"tp2\tdp2", "blank in 'tp2?dp2'", "write the SPEC without blanks: tp2,dp2"},
      {"tp2\x01", "byte 0x01 in 'tp2?' is not printable ASCII", "type the SPEC by hand: tp2,dp2"},
      {"tp\xc2\xb2", "byte 0xc2 in 'tp?\?' is not printable ASCII",
       "type the SPEC by hand: tp2,dp2"},
      {"42", "can't read '42'",
       "an item is a dimension and its size (tp2), or an option (timeout=60)"},
      {"!", "can't read '!'",
       "an item is a dimension and its size (tp2), or an option (timeout=60)"},
      {"_tp2", "bad dimension name '_tp'",
       "names are lower-case letters, with '_' only between them"},
      {"tp_2", "bad dimension name 'tp_'",
       "names are lower-case letters, with '_' only between them"},
      {"=3", "unknown option '' in '=3'",
       "the options are port, ports, timeout, linger, torch.store, address, address.template, "
       "interface, limit.nofile, limit.memlock, limit.stack, limit.core, groups, expert.ep, "
       "expert.tp, bind, topology, hca.skip, comms, check, check.min_busbw, check.size, "
       "check.report, nccl.NAME"},
  });
  cr_assert(!parse_spec(std::string_view("tp2\0,dp2", 8)).has_value());
  cr_assert(
      error_of(std::string(32, 'a')).what ==
      concat("dimension name '", std::string(32, 'a'), "' has 32 letters, at most 31 are allowed"));
}

Test(spec, keeps_the_name_of_the_group_of_all_ranks) {
  expect_refusals({
      {"world2", "'world' can't be a dimension: it is the group of all ranks", "take another name"},
      {"tp2,world", "'world' can't be a dimension: it is the group of all ranks",
       "take another name"},
  });
}

Test(spec, refuses_repeated_items) {
  expect_refusals({
      {"dp2,dp2", "dimension 'dp' is given twice ('dp2' and 'dp2')",
       "leave one of them out, or give it a name of its own"},
      {"dp,tp2,dp4", "dimension 'dp' is given twice ('dp' and 'dp4')",
       "leave one of them out, or give it a name of its own"},
      {"tp,dp", "both 'tp' and 'dp' have no size",
       "only one can be what is left of the world size: did you mean 'tp2'?"},
      {"port=1,port=2", "option 'port' is given twice ('1' and '2')", "leave one of them out"},
  });
  std::string many = "aaaa1";
  for (char c = 'b'; c <= 'q'; ++c) {
    many += concat(',', std::string(4, c), 1);
  }
  cr_assert(error_of(many).what == "more than 16 dimensions");
}

Test(spec, names_the_nearest_option) {
  expect_refusals({
      {"timout=60", "unknown option 'timout' in 'timout=60'", "did you mean 'timeout=60'?"},
      {"tp=2", "unknown option 'tp' in 'tp=2'",
       "a dimension is written without '=': did you mean 'tp2'?"},
      {"torch.stor=rank0", "unknown option 'torch.stor' in 'torch.stor=rank0'",
       "did you mean 'torch.store=rank0'?"},
      {"torch.store=rank1", "bad value in 'torch.store=rank1': not 'agent' or 'rank0'",
       "did you mean 'torch.store=rank0'?"},
      {"address=numric", "bad value in 'address=numric': not 'numeric' or 'name'",
       "did you mean 'address=numeric'?"},
      {"timeout", "option 'timeout' needs '=' and a value", "did you mean 'timeout=120'?"},
      {"timeout60", "option 'timeout60' needs '=' and a value", "did you mean 'timeout=60'?"},
      {"torch.store", "option 'torch.store' needs '=' and a value",
       "did you mean 'torch.store=rank0'?"},
      {"expert.pp=2", "unknown option 'expert.pp' in 'expert.pp=2'",
       "experts share pp with the other layers and their dp follows: use expert.ep and expert.tp"},
  });
}

Test(spec, refuses_values_out_of_bounds) {
  for (const char* item : {"port=0",
                           "port=65536",
                           "port=",
                           "port=+1",
                           "port=80x",
                           "ports=10",
                           "ports=20-10",
                           "ports=0-5",
                           "ports=1-65536",
                           "ports=1-2-3",
                           "timeout=0",
                           "timeout=86401",
                           "timeout=1.5",
                           "linger=86401",
                           "linger=-1",
                           "torch.store=",
                           "address=IP",
                           "address.template=node",
                           "address.template=%n-%n",
                           "address.template=%n/x",
                           "interface=",
                           "interface=a/b",
                           "interface=..",
                           "interface=abcdefghijklmnop",
                           "interface=eth0:1",
                           "limit.nofile=-1",
                           "limit.nofile=all",
                           "limit.nofile=K",
                           "limit.stack=1T",
                           "limit.core=8589934592G",
                           "limit.data=1",
                           "expert.ep=0",
                           "expert.tp=x",
                           "groups=",
                           "groups=tp",
                           "groups=tp-",
                           "groups=tp-dp+",
                           "groups=tp-tp",
                           "groups=tp-dp+dp-tp",
                           "groups=TP-dp",
                           "bind=",
                           "bind=cpu+",
                           "bind=gpus",
                           "bind=cpu+cpu",
                           "bind=all+cpu",
                           "bind=cpu+none",
                           "topology=",
                           "topology=node.xml",
                           "topology=/etc/%h.xml",
                           "topology=/etc/100%",
                           "hca.skip=",
                           "hca.skip=mlx5_0+",
                           "hca.skip=mlx5_0:0",
                           "hca.skip=mlx5_0:256",
                           "hca.skip=mlx5_0:x",
                           "hca.skip=:1",
                           "hca.skip=a/b",
                           "comms=",
                           "comms=both",
                           "comms=split+ids",
                           "comms=preload+preload",
                           "comms=ids+",
                           "check=",
                           "check=yes",
                           "check.min_busbw=",
                           "check.min_busbw=0",
                           "check.min_busbw=-1",
                           "check.min_busbw=1e3",
                           "check.min_busbw=1.2345678",
                           "check.min_busbw=1.",
                           "check.min_busbw=tp:",
                           "check.min_busbw=:10",
                           "check.min_busbw=TP:10",
                           "check.min_busbw=tp:1+tp:2",
                           "check.min_busbw=1+2",
                           "check.min_busbw=1000000",
                           "check.size=63K",
                           "check.size=17G",
                           "check.size=max",
                           "check.size=",
                           "check.report=",
                           "check.report=check.json",
                           "check.report=/tmp/",
                           "nccl.IB_SL=",
                           "nccl.=1",
                           "nccl.IB-SL=1"}) {
    const Error error = error_of(item);
    cr_assert(!error.what.empty() && !error.hint.empty(), "%s", item);
    const std::string_view key = std::string_view(item).substr(0, std::string_view(item).find('='));
    cr_assert(error.what.find(key) != std::string::npos, "%s: %s", item, error.what.c_str());
  }
}

Test(spec, takes_values_at_their_bounds) {
  for (const char* item : {"port=1",
                           "port=65535",
                           "ports=1-65535",
                           "ports=7-7",
                           "timeout=1",
                           "timeout=86400",
                           "linger=0",
                           "linger=86400",
                           "torch.store=agent",
                           "address=name",
                           "address.template=%n",
                           "address.template=%n.ib.example.org",
                           "interface=abcdefghijklmno",
                           "limit.core=0",
                           "limit.nofile=1048576",
                           "limit.memlock=64G",
                           "limit.core=8589934591G",
                           "expert.ep=1000000",
                           "bind=all",
                           "bind=none",
                           "bind=memory",
                           "bind=memory+hca+gpu+cpu",
                           "topology=/x",
                           "topology=/t/%n/%n.xml",
                           "comms=split",
                           "comms=ids",
                           "comms=preload",
                           "comms=ids+preload",
                           "comms=preload+split",
                           "check=on",
                           "check=off",
                           "check=require",
                           "check.min_busbw=100",
                           "check.min_busbw=0.000001",
                           "check.min_busbw=12.5+tp-cp:200+world:999999",
                           "check.size=65536",
                           "check.size=16G",
                           "check.report=/r",
                           "hca.skip=mlx5_0",
                           "hca.skip=mlx5_0:1+rocep1s0f0:255",

                           "nccl.DEBUG=INFO",
                           "nccl.IB_HCA==mlx5_0:1+mlx5_1:1",
                           "nccl.P2P_LEVEL=^%&/"}) {
    const std::string_view text = item;
    const Spec spec = spec_of(text);
    const size_t at = text.find('=');
    cr_assert(spec.options.at(std::string(text.substr(0, at))) == text.substr(at + 1));
  }
}

Test(spec, every_option_has_a_valid_example) {
  for (const OptionHelp& help : option_helps()) {
    cr_assert(check_option(help.key, help.example).has_value(), "%s",
              std::string(help.key).c_str());
    cr_assert(!help.summary.empty() && !help.value.empty());
  }
  cr_assert(option_helps().size() == 24);
}

Test(spec, names_the_wrong_part_of_bind) {
  expect_refusals({
      {"bind=cpu+gpus", "unknown part 'gpus' in 'bind=cpu+gpus'", "did you mean 'gpu'?"},
      {"bind=mem+memry", "unknown part 'mem' in 'bind=mem+memry'",
       "bind is all, none, or parts out of cpu+gpu+hca+memory"},
      {"bind=memry", "unknown part 'memry' in 'bind=memry'", "did you mean 'memory'?"},
      {"bind=non", "unknown part 'non' in 'bind=non'", "did you mean 'none'?"},
      {"bind=hca+cpu+hca", "part 'hca' stands twice in 'bind=hca+cpu+hca'", "name each part once"},
      {"bind=all+cpu", "'all' stands beside other parts in 'bind=all+cpu'",
       "bind is all, none, or parts out of cpu+gpu+hca+memory"},
      {"bind", "option 'bind' needs '=' and a value", "did you mean 'bind=cpu+gpu+hca'?"},
  });
}

Test(spec, finds_the_nccl_variable_that_was_meant) {
  expect_refusals({
      {"nccl.ib_sl=3", "unknown option 'nccl.ib_sl' in 'nccl.ib_sl=3'",
       "did you mean 'nccl.IB_SL=3'?"},
      {"ncl.IB_SL=3", "unknown option 'ncl.IB_SL' in 'ncl.IB_SL=3'",
       "did you mean 'nccl.IB_SL=3'?"},
      {"NCCL_IB_SL=3", "unknown option 'NCCL_IB_SL' in 'NCCL_IB_SL=3'",
       "did you mean 'nccl.IB_SL=3'?"},
      {"nccl.IB_SL3", "option 'nccl.IB_SL3' needs '=' and a value", "for example nccl.IB_SL3=3"},
      {"nccl.IB_SL=", "bad value in 'nccl.IB_SL=': not a value", "for example nccl.IB_SL=3"},
      {"topolgy=/x", "unknown option 'topolgy' in 'topolgy=/x'", "did you mean 'topology=/x'?"},
      {"hca_skip=mlx5_0", "unknown option 'hca_skip' in 'hca_skip=mlx5_0'",
       "did you mean 'hca.skip=mlx5_0'?"},
  });
}

Test(spec, merges_nccl_settings_by_name) {
  const Spec merged = merge_specs(spec_of("nccl.IB_SL=3,nccl.IB_TC=160"), spec_of("nccl.IB_SL=5"));
  cr_assert(merged == spec_of("nccl.IB_SL=5,nccl.IB_TC=160"));
  cr_assert(spec_of(format_spec(merged)) == merged);
}

Test(spec, refuses_groups_of_unknown_dimensions) {
  expect_refusals({
      {"tp2,dp2,groups=tp-pp", "groups type 'tp-pp' names 'pp', which is no dimension",
       "did you mean 'tp'? the dimensions of this SPEC are tp, dp"},
      {"groups=dp-cp+tp-pp,tp2,dp,cp2", "groups type 'tp-pp' names 'pp', which is no dimension",
       "did you mean 'tp'? the dimensions of this SPEC are tp, dp, cp"},
  });
}

Test(spec, refuses_a_plain_expert_dimension_beside_the_expert_grid) {
  for (const char* text : {"ep4,dp,expert.ep=4", "expert.tp=1,etp2", "edp2,expert.ep=1"}) {
    cr_assert(error_of(text).what.find("expert.ep or expert.tp lays a second grid") !=
              std::string::npos);
  }
  cr_assert(spec_of("ep4,dp2").dims.size() == 2);
}

Test(spec, refuses_a_megabyte_by_its_length_at_once) {
  const auto start = std::chrono::steady_clock::now();
  const Error error = error_of(std::string(1 << 20, 'x'));
  cr_assert(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(50));
  cr_assert(
      error.what ==
      "SPEC of 1048576 bytes, at most 8192 are read (it begins with 'xxxxxxxxxxxxxxxxxxxx…')");
  cr_assert(!parse_spec(std::string(kLongestSpec, ',')).has_value());
}

Test(spec, parses_single_options_into_a_spec) {
  Spec spec;
  cr_assert(parse_option("timeout=60", spec).has_value());
  cr_assert(spec.options.at("timeout") == "60");
  cr_assert(!parse_option("timeout=61", spec).has_value());
  cr_assert(parse_option("tp2", spec).error().what == "'tp2' is not an option (key=value)");
  cr_assert(parse_option("limit.nofile=many", spec).error().code == ErrorCode::kSpec);
  cr_assert(spec.options.size() == 1);
}

Test(spec, later_dimensions_replace_all_earlier_ones) {
  const Spec earlier = spec_of("tp8,dp,groups=tp-dp,expert.ep=8,timeout=60,port=1");
  Spec merged = merge_specs(earlier, spec_of("dp4,timeout=30"));
  cr_assert(merged == spec_of("dp4,timeout=30,port=1"));
  merged = merge_specs(earlier, spec_of("linger=5,port=2"));
  cr_assert(merged == spec_of("tp8,dp,groups=tp-dp,expert.ep=8,timeout=60,port=2,linger=5"));
  cr_assert(merge_specs(Spec{}, earlier) == earlier);
  cr_assert(merge_specs(earlier, Spec{}) == earlier);
}

Test(spec, reads_back_what_it_formats) {
  for (const char* text : {"dp", "tp2,dp2", "tp8,pp4,dp,timeout=9,ports=1-9", "port=1",
                           "tp2,dp,address.template=%n-ib0,groups=tp-dp"}) {
    const Spec spec = spec_of(text);
    cr_assert(spec_of(format_spec(spec)) == spec, "%s", text);
  }
  cr_assert(format_spec(Spec{}) == "dp");
  cr_assert(format_spec(spec_of("timeout=60,tp2,dp")) == "tp2,dp,timeout=60");
}

Test(spec, survives_random_text) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  constexpr std::string_view kAlphabet = "tdpcexgrous.=,-+_0123456789%nK \n\xff";
  for (int round = 0; round < 20000; ++round) {
    std::string text(std::uniform_int_distribution<size_t>(0, 24)(random), ' ');
    for (char& c : text) {
      c = kAlphabet[std::uniform_int_distribution<size_t>(0, kAlphabet.size() - 1)(random)];
    }
    const auto spec = parse_spec(text);
    if (spec) {
      const auto again = parse_spec(format_spec(*spec));
      cr_assert(again && *again == *spec, "seed %u: %s", seed, text.c_str());
      continue;
    }
    const Error& error = spec.error();
    cr_assert(error.code == ErrorCode::kSpec && !error.what.empty() && !error.hint.empty(),
              "seed %u: %s", seed, text.c_str());
    cr_assert(format_error(error).find_first_of("\xff\x01") == std::string::npos, "seed %u", seed);
  }
}

Test(spec, a_misspelt_option_is_not_taken_for_a_dimension) {
  cr_assert(parse_spec("prot=1").error().hint == "did you mean 'port=1'?");
  cr_assert(parse_spec("tp=2").error().hint ==
            "a dimension is written without '=': did you mean 'tp2'?");
}
