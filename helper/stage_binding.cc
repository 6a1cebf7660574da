// SPDX-License-Identifier: Apache-2.0
#include "helper/stage_binding.h"

#include "lib/base/cpu_set.h"

#include <vector>

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace distinit {

namespace {

constexpr int kWordBits = 8 * sizeof(unsigned long);
/// The kernel's bound is 1024 (CONFIG_NODES_SHIFT).
constexpr int kMostNodes = 4096;

/// The bits of the members, in the kernel's layout; cpu_set_t alone ends at 1024.
std::vector<unsigned long> make_mask(const std::vector<int>& members) {
  std::vector<unsigned long> mask(static_cast<size_t>(members.back() / kWordBits) + 1);
  for (const int member : members) {
    mask[static_cast<size_t>(member / kWordBits)] |= 1UL << (member % kWordBits);
  }
  return mask;
}

}  // namespace

void bind_to_cpus(const std::string& list) {
  const auto wanted = CpuSet::parse_list(list);
  const auto allowed = process_cpus(0);
  if (!wanted || !allowed || !wanted->intersects(*allowed)) {
    return;
  }
  const std::vector<unsigned long> mask = make_mask((*wanted & *allowed).members());
  // Not glibc's wrapper, which wants a cpu_set_t.
  syscall(SYS_sched_setaffinity, 0, mask.size() * sizeof mask[0], mask.data());
}

void prefer_memory_of(int node) {
  if (node < 0 || node >= kMostNodes) {
    return;
  }
  const std::vector<unsigned long> mask = make_mask({node});
  // By number: libnuma is not static, and glibc has no wrapper. The kernel takes one bit less than
  // it is told (mm/mempolicy.c, get_nodes).
  syscall(SYS_set_mempolicy, MPOL_PREFERRED, mask.data(), mask.size() * kWordBits + 1);
}

}  // namespace distinit
