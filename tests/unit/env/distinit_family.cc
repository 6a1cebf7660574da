// SPDX-License-Identifier: Apache-2.0
#include "lib/env/distinit_family.h"

#include "lib/base/text.h"
#include "tests/unit/env/sample.h"
#include "tests/unit/expect_text.h"

#include <map>

using namespace distinit;

namespace {

std::map<std::string, std::string> values(const Sample& sample) {
  std::map<std::string, std::string> out;
  for (const Assignment& assignment : distinit_family(sample.context)) {
    cr_expect(assignment.name.starts_with("DISTINIT_"), "%s", assignment.name.c_str());
    const bool fresh = out.emplace(assignment.name, assignment.value).second;
    cr_expect(fresh, "%s twice", assignment.name.c_str());
  }
  return out;
}

std::string all(const Sample& sample) {
  std::vector<std::string> out;
  for (const auto& [name, value] : values(sample)) {
    out.push_back(concat(name, '=', value));
  }
  return join(out, " ");
}

}  // namespace

Test(distinit_family, names_mesh_groups_and_store) {
  EXPECT_TEXT(all(Sample()),
              "DISTINIT_COORDS=tp=1,dp=1 DISTINIT_DP_GROUP=1 DISTINIT_DP_GROUPS=0,2;1,3 "
              "DISTINIT_DP_RANK=1 DISTINIT_DP_RANKS=1,3 DISTINIT_DP_SIZE=2 DISTINIT_MESH=tp=2,dp=2 "
              "DISTINIT_NODE=a8 DISTINIT_SPEC=tp2,dp2 DISTINIT_STEP=4242.0.0 "
              "DISTINIT_STORE=10.0.0.7:23001 DISTINIT_TP_GROUP=1 DISTINIT_TP_GROUPS=0,1;2,3 "
              "DISTINIT_TP_RANK=1 DISTINIT_TP_RANKS=2,3 DISTINIT_TP_SIZE=2");
}

Test(distinit_family, names_the_ranks_place_where_it_is_known) {
  Sample sample;
  sample.context.gpus = "2,3";
  sample.context.gpu_pci = "0000:4e:00.0,0000:8e:00.0";
  sample.context.hcas = "mlx5_2:1,mlx5_3:1";
  sample.context.cpus = "32-63";
  const auto got = values(sample);
  EXPECT_TEXT(got.at("DISTINIT_GPUS"), "2,3");
  EXPECT_TEXT(got.at("DISTINIT_GPU_PCI"), "0000:4e:00.0,0000:8e:00.0");
  EXPECT_TEXT(got.at("DISTINIT_HCAS"), "mlx5_2:1,mlx5_3:1");
  EXPECT_TEXT(got.at("DISTINIT_CPUS"), "32-63");
}

Test(distinit_family, tells_position_from_index_and_names_joint_groups) {
  // Megatron's world of 24: rank 7 is tp 1, cp 1, dp 1, pp 0.
  const auto got = values(Sample("tp2,cp2,dp3,pp2,groups=dp-cp", 24, 7));
  EXPECT_TEXT(got.at("DISTINIT_MESH"), "tp=2,cp=2,dp=3,pp=2");
  EXPECT_TEXT(got.at("DISTINIT_COORDS"), "tp=1,cp=1,dp=1,pp=0");
  EXPECT_TEXT(got.at("DISTINIT_CP_GROUP"), "3");
  EXPECT_TEXT(got.at("DISTINIT_CP_RANK"), "1");
  EXPECT_TEXT(got.at("DISTINIT_CP_RANKS"), "5,7");
  EXPECT_TEXT(got.at("DISTINIT_DP_GROUP"), "3");
  EXPECT_TEXT(got.at("DISTINIT_DP_RANKS"), "3,7,11");
  EXPECT_TEXT(got.at("DISTINIT_DP_CP_SIZE"), "6");
  EXPECT_TEXT(got.at("DISTINIT_DP_CP_GROUP"), "1");
  EXPECT_TEXT(got.at("DISTINIT_DP_CP_RANK"), "3");
  EXPECT_TEXT(got.at("DISTINIT_DP_CP_RANKS"), "1,3,5,7,9,11");
  EXPECT_TEXT(got.at("DISTINIT_DP_CP_GROUPS"),
              "0,2,4,6,8,10;1,3,5,7,9,11;12,14,16,18,20,22;13,15,17,19,21,23");
}

Test(distinit_family, keeps_our_store_apart_from_rank_0s) {
  Sample sample("tp2,dp2,torch.store=rank0");
  sample.context.master_port = 23007;
  sample.context.store_addr = "fd00::7";
  EXPECT_TEXT(values(sample).at("DISTINIT_STORE"), "[fd00::7]:23001");
}

Test(distinit_family, leaves_out_lists_that_are_too_long) {
  // The last one of these sizes that fits: 1861 would be 8194 bytes.
  const auto fits = values(Sample("dp", 1860, 0));
  EXPECT_TEXT(concat(fits.at("DISTINIT_DP_RANKS").size()), "8189");
  cr_expect(values(Sample("dp", 1861, 0)).count("DISTINIT_DP_RANKS") == 0);
  const auto large = values(Sample("tp4,dp", 8000, 5));
  cr_expect(large.count("DISTINIT_TP_RANKS") == 1);
  cr_expect(large.count("DISTINIT_TP_GROUPS") == 0);
  cr_expect(large.count("DISTINIT_DP_RANKS") == 0);
  EXPECT_TEXT(large.at("DISTINIT_DP_SIZE"), "2000");
  EXPECT_TEXT(large.at("DISTINIT_DP_RANK"), "1");
}

Test(distinit_family, bounds_all_lists_together) {
  // Every pair, triple, … of ten dimensions over 1024 ranks: each list is short enough by itself.
  std::string groups;
  const std::string names = "abcdefghij";
  for (unsigned set = 1; set < 1024; ++set) {
    std::vector<std::string> dims;
    for (size_t i = 0; i < names.size(); ++i) {
      if ((set >> i & 1) != 0) {
        dims.push_back(concat("q", names[i], "q"));
      }
    }
    if (dims.size() >= 2 && groups.size() < 7000) {
      groups += (groups.empty() ? "" : "+") + join(dims, "-");
    }
  }
  std::string spec;
  for (const char name : names) {
    spec += concat("q", name, "q", 2, ',');
  }
  size_t lists = 0;
  const auto got = values(Sample(spec + "groups=" + groups, 1024, 9));
  for (const auto& [name, value] : got) {
    lists += name.ends_with("_RANKS") || name.ends_with("_GROUPS") ? value.size() : 0;
  }
  cr_expect(lists <= kMostListBytes && lists > kMostListBytes - kLongestRankList, "%zu", lists);
  cr_expect(got.count("DISTINIT_QAQ_QBQ_QCQ_RANKS") == 1);
}
