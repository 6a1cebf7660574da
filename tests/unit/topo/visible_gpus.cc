// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/visible_gpus.h"

#include "tests/unit/expect_text.h"
#include "tests/unit/topo/machines.h"

#include <criterion/criterion.h>

using namespace distinit;

namespace {

using Gpus = std::vector<int>;

VisibleGpus by_cuda(const Machine& machine, const std::string& cuda,
                    const std::string& step_gpus = "") {
  TaskGrant grant;
  grant.has_cuda = true;
  grant.cuda = cuda;
  grant.step_gpus = step_gpus;
  return visible_gpus(machine, grant);
}

Machine named_machine() {
  Machine machine = simple_machine(4);
  const char* uuids[] = {"GPU-aa11-0000", "GPU-aa22-0000", "GPU-bb00-0000", "GPU-cc00-0000"};
  for (size_t i = 0; i < 4; ++i) {
    machine.gpus[i].uuid = uuids[i];
  }
  return machine;
}

Machine mig_machine() {
  Machine machine = simple_machine(2);
  Gpu second = machine.gpus[0];
  machine.gpus[0].partition = 0;
  machine.gpus[0].name = "MIG 7/0";
  machine.gpus[0].uuid = "GPU-aa11";
  second.partition = 1;
  second.name = "MIG 9/0";
  second.uuid = "GPU-aa11";
  machine.gpus.insert(machine.gpus.begin() + 1, second);
  return machine;
}

}  // namespace

Test(visible_gpus, all_of_the_node_where_nothing_is_set) {
  const VisibleGpus visible = visible_gpus(simple_machine(3), TaskGrant{});
  cr_assert(visible.gpus == Gpus({0, 1, 2}));
  cr_assert(visible.findings.empty());
}

Test(visible_gpus, integers_keep_slurms_order) {
  cr_assert(by_cuda(simple_machine(4), "3,1").gpus == Gpus({3, 1}));
  cr_assert(by_cuda(simple_machine(4), "2,3", "2,3").gpus == Gpus({2, 3}));
}

Test(visible_gpus, inside_a_device_cgroup_integers_count_what_the_step_has) {
  cr_assert(by_cuda(simple_machine(4), "0,1", "2,3").gpus == Gpus({2, 3}));
  cr_assert(by_cuda(simple_machine(4), "0", "3").gpus == Gpus({3}));
  cr_assert(by_cuda(simple_machine(4), "1,0", "3,1").gpus == Gpus({3, 1}));
  cr_assert(by_cuda(simple_machine(4), "0,1", "0,1").gpus == Gpus({0, 1}));
}

Test(visible_gpus, the_steps_numbers_are_minors_where_those_are_known) {
  Machine machine = simple_machine(4);
  for (size_t i = 0; i < 4; ++i) {
    machine.gpus[i].minor = 3 - static_cast<int>(i);
  }
  cr_assert(by_cuda(machine, "0,1", "0,3").gpus == Gpus({3, 0}));
}

Test(visible_gpus, uuids_match_by_a_prefix_that_fits_one) {
  cr_assert(by_cuda(named_machine(), "GPU-cc,GPU-aa22-0000").gpus == Gpus({3, 1}));
  const VisibleGpus twofold = by_cuda(named_machine(), "GPU-bb,GPU-aa,GPU-cc");
  cr_assert(twofold.gpus == Gpus({2}));
  EXPECT_TEXT(twofold.findings.at(0).what,
              "CUDA_VISIBLE_DEVICES=GPU-bb,GPU-aa,GPU-cc has GPU-aa, which fits 2 GPUs");
  const VisibleGpus none = by_cuda(named_machine(), "GPU-dd");
  cr_assert(none.gpus.empty());
  cr_assert_eq(none.findings.size(), 1u);
}

Test(visible_gpus, uuids_are_unknown_devices_where_the_machine_tells_none) {
  const VisibleGpus visible = by_cuda(simple_machine(2), "GPU-aa,GPU-bb");
  cr_assert(visible.gpus == Gpus({kUnknownGpu, kUnknownGpu}));
  cr_assert(visible.findings.empty());
}

Test(visible_gpus, partitions_by_their_place_and_by_uuids_that_only_the_driver_knows) {
  cr_assert(by_cuda(mig_machine(), "MIG-GPU-aa11/9/0").gpus == Gpus({1}));
  cr_assert(by_cuda(mig_machine(), "MIG-1234,MIG-5678").gpus == Gpus({kUnknownGpu, kUnknownGpu}));
  Machine one = simple_machine(1);
  one.gpus[0].partition = 0;
  cr_assert(by_cuda(one, "MIG-1234").gpus == Gpus({0}));
}

Test(visible_gpus, the_first_entry_that_is_nothing_ends_the_list) {
  const VisibleGpus missing = by_cuda(simple_machine(4), "0,9,1");
  cr_assert(missing.gpus == Gpus({0}));
  EXPECT_TEXT(missing.findings.at(0).what,
              "CUDA_VISIBLE_DEVICES=0,9,1 names GPU 9, but there are 4 to count");
  EXPECT_TEXT(by_cuda(simple_machine(1), "1").findings.at(0).what,
              "CUDA_VISIBLE_DEVICES=1 names GPU 1, but there is 1 to count");
  EXPECT_TEXT(by_cuda(simple_machine(4), "0,x").findings.at(0).what,
              "CUDA_VISIBLE_DEVICES=0,x has 'x', which is no GPU");
  const VisibleGpus twice = by_cuda(simple_machine(4), "1,1");
  cr_assert(twice.gpus == Gpus({1}));
  EXPECT_TEXT(twice.findings.at(0).what, "CUDA_VISIBLE_DEVICES=1,1 names 1 twice");
  cr_assert(by_cuda(simple_machine(4), "0,,1").gpus == Gpus({0}));
}

Test(visible_gpus, an_empty_list_is_no_gpu_and_no_finding) {
  for (const char* none : {"", "-1", "NoDevFiles"}) {
    const VisibleGpus visible = by_cuda(simple_machine(2), none);
    cr_assert(visible.gpus.empty() && visible.findings.empty(), "%s", none);
  }
}

Test(visible_gpus, rocm_filters_twice) {
  const Machine machine = simple_machine(4, GpuVendor::kAmd);
  TaskGrant grant;
  grant.has_rocr = true;
  grant.rocr = "2,3";
  cr_assert(visible_gpus(machine, grant).gpus == Gpus({2, 3}));
  grant.has_hip = true;
  grant.hip = "1";
  cr_assert(visible_gpus(machine, grant).gpus == Gpus({3}));
  // Slurm sets them all where gres.conf does not say whose GPUs they are.
  grant.hip = "2,3";
  const VisibleGpus none = visible_gpus(machine, grant);
  cr_assert(none.gpus.empty());
  EXPECT_TEXT(none.findings.at(0).what,
              "HIP_VISIBLE_DEVICES=2,3 names GPU 2, but there are 2 to count");
  cr_assert_neq(none.findings.at(0).hint.find("ROCR_VISIBLE_DEVICES=2,3"), std::string::npos);
}

Test(visible_gpus, cuda_is_hips_other_name_on_amd) {
  const Machine machine = simple_machine(4, GpuVendor::kAmd);
  cr_assert(by_cuda(machine, "1,2").gpus == Gpus({1, 2}));
}

Test(visible_gpus, other_vendors_variables_mean_nothing_on_nvidia) {
  TaskGrant grant;
  grant.has_rocr = grant.has_hip = grant.has_ze = true;
  grant.rocr = grant.hip = grant.ze = "1";
  cr_assert(visible_gpus(simple_machine(2), grant).gpus == Gpus({0, 1}));
}

Test(visible_gpus, intels_tiles_belong_to_their_device) {
  TaskGrant grant;
  grant.has_ze = grant.has_cuda = true;
  grant.ze = "1.0,1.1,0";
  grant.cuda = "0";
  cr_assert(visible_gpus(simple_machine(2, GpuVendor::kIntel), grant).gpus == Gpus({1, 0}));
}
