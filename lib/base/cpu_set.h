// SPDX-License-Identifier: Apache-2.0
#pragma once
// A set of CPUs by the kernel's numbers, of any size. Lists are written as the kernel writes them:
// "0-15,32-47".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stdint.h>
#include <sys/types.h>

namespace distinit {

/// CPU numbers from 0 to kMostCpus - 1. Equal when they have the same members.
class CpuSet {
 public:
  static constexpr int kMostCpus = 65536;

  CpuSet() = default;
  /// All of `low` … `high`.
  static CpuSet range(int low, int high);
  /// A list such as "0-3,8"; nullopt for anything else. An empty text is the empty set.
  static std::optional<CpuSet> parse_list(std::string_view text);
  /// Comma-separated words of 32 bits in hexadecimal, most significant first, with or without "0x"
  /// ("ff,00000000"), as sysfs's local_cpus, hwloc and NCCL's affinity= write it.
  static std::optional<CpuSet> parse_mask(std::string_view text);

  /// Numbers outside the limits are ignored.
  void add(int cpu);
  void remove(int cpu);
  bool contains(int cpu) const;
  bool is_empty() const { return words_.empty(); }
  int count() const;
  /// The lowest number, -1 for the empty set.
  int first() const;
  /// Ascending.
  std::vector<int> members() const;
  /// The list; "" for the empty set.
  std::string format() const;

  CpuSet operator&(const CpuSet& other) const;
  CpuSet operator|(const CpuSet& other) const;
  /// Those that are not in `other`.
  CpuSet operator-(const CpuSet& other) const;
  bool intersects(const CpuSet& other) const;
  bool is_subset_of(const CpuSet& other) const;
  bool operator==(const CpuSet&) const = default;

 private:
  void trim();

  std::vector<uint64_t> words_;  // no zero word at the end
};

/// What the process may run on, by sched_getaffinity(2); nullopt (errno is set) when it is gone or
/// not ours to ask. 0 is the caller.
std::optional<CpuSet> process_cpus(pid_t pid);

}  // namespace distinit
