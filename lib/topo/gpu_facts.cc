// SPDX-License-Identifier: Apache-2.0
// Sources: NVIDIA's driver README, chapters "Using the /proc file system" and (MIG) of the MIG user
// guide "Device nodes and capabilities"; the kernel's drivers/gpu/drm/amd/amdkfd/kfd_topology.c.
#include "lib/base/text.h"
#include "lib/topo/readers.h"
#include "lib/topo/sysfs.h"

#include <algorithm>
#include <map>

#include <stdio.h>

namespace distinit {

namespace {

constexpr size_t kMostPartitions = 64;

/// What follows `key` on the first line that begins with it, without blanks.
std::string value_of(const std::string& text, std::string_view key) {
  for (std::string_view line : split(text, '\n')) {
    if (!line.starts_with(key)) {
      continue;
    }
    line.remove_prefix(key.size());
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos) {
      return {};
    }
    return std::string(line.substr(first, line.find_last_not_of(" \t\r") - first + 1));
  }
  return {};
}

void read_nvidia(const std::string& folder, Gpu& gpu) {
  const std::string text =
      read_small_file(concat(folder, "/gpus/", format_pci_address(gpu.pci), "/information"));
  // The driver writes question marks until it has started the GPU.
  const std::string uuid = value_of(text, "GPU UUID:");
  if (uuid.starts_with("GPU-") && uuid.find('?') == std::string::npos) {
    gpu.uuid = uuid;
  }
  if (const auto minor = parse_number(value_of(text, "Device Minor:"), 0, 65535)) {
    gpu.minor = static_cast<int>(*minor);
  }
}

/// The compute instances of a GPU, each as one entry. Their own UUIDs are known to NVML alone, so
/// that of the GPU stays: names of the old form, MIG-GPU-<uuid>/G/C, can be matched with it.
std::vector<Gpu> mig_instances(const std::string& folder, const Gpu& gpu) {
  std::vector<Gpu> out;
  if (gpu.minor < 0) {
    return out;
  }
  const std::string mig = concat(folder, "/capabilities/gpu", gpu.minor, "/mig");
  for (const int group : list_numbers(mig, "gi")) {
    for (const int compute : list_numbers(concat(mig, "/gi", group), "ci")) {
      if (out.size() == kMostPartitions) {
        return out;
      }
      Gpu part = gpu;
      part.index = -1;
      part.partition = static_cast<int>(out.size());
      part.name = concat("MIG ", group, '/', compute);
      out.push_back(std::move(part));
    }
  }
  return out;
}

/// One GPU or partition as ROCm's driver shows it.
struct KfdNode {
  int order = 0;  ///< among the GPUs, which is how ROCm counts them
  uint64_t unique_id = 0;
};

/// Domain, bus and device; the function's bits tell partitions apart.
using KfdPlace = std::pair<uint64_t, uint64_t>;

uint64_t property(const std::string& text, std::string_view key) {
  uint64_t number = 0;
  const std::string value = value_of(text, key);
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

std::map<KfdPlace, std::vector<KfdNode>> read_kfd(const std::string& nodes) {
  std::map<KfdPlace, std::vector<KfdNode>> out;
  int order = 0;
  for (const int number : list_numbers(nodes, "")) {
    const std::string text = read_small_file(concat(nodes, '/', number, "/properties"));
    if (property(text, "simd_count ") == 0) {
      continue;
    }
    const uint64_t location = property(text, "location_id ") & 0xffff;
    const KfdPlace place{property(text, "domain "), location >> 3};
    out[place].push_back({order++, property(text, "unique_id ")});
  }
  return out;
}

/// As ROCR_VISIBLE_DEVICES takes it.
std::string amd_uuid(uint64_t unique_id) {
  char text[32] = "";
  if (unique_id != 0) {
    snprintf(text, sizeof text, "GPU-%016llx", static_cast<unsigned long long>(unique_id));
  }
  return text;
}

/// The entries that stand for a GPU; empty where the driver does not know it.
std::vector<Gpu> kfd_partitions(const std::map<KfdPlace, std::vector<KfdNode>>& kfd,
                                const Gpu& gpu) {
  const uint64_t location = uint64_t{gpu.pci.bus} << 5 | gpu.pci.device;
  const auto found = kfd.find({gpu.pci.domain, location});
  std::vector<Gpu> out;
  if (found == kfd.end()) {
    return out;
  }
  const auto& nodes = found->second;
  for (size_t i = 0; i < std::min(nodes.size(), kMostPartitions); ++i) {
    Gpu part = gpu;
    part.index = nodes[i].order;
    part.partition = nodes.size() > 1 ? static_cast<int>(i) : gpu.partition;
    part.uuid = amd_uuid(nodes[i].unique_id);
    out.push_back(std::move(part));
  }
  return out;
}

}  // namespace

void read_gpu_facts(const SystemRoots& roots, Machine& machine) {
  const std::string nvidia = (roots.proc.empty() ? "/proc" : roots.proc) + "/driver/nvidia";
  const auto kfd =
      read_kfd((roots.sysfs.empty() ? "/sys" : roots.sysfs) + "/class/kfd/kfd/topology/nodes");
  std::vector<Gpu> out;
  size_t numbered = 0;
  for (Gpu& gpu : machine.gpus) {
    std::vector<Gpu> parts;
    if (gpu.vendor == GpuVendor::kNvidia) {
      read_nvidia(nvidia, gpu);
    }
    // A source that names each partition has split the GPU already.
    if (gpu.partition < 0) {
      if (gpu.vendor == GpuVendor::kNvidia) {
        parts = mig_instances(nvidia, gpu);
      } else if (gpu.vendor == GpuVendor::kAmd) {
        parts = kfd_partitions(kfd, gpu);
        numbered += parts.size();
      }
    }
    if (parts.empty()) {
      parts.push_back(std::move(gpu));
    }
    out.insert(out.end(), parts.begin(), parts.end());
  }
  // ROCm's numbers mean nothing next to those of GPUs that it does not count.
  if (numbered > 0 && numbered < out.size()) {
    for (Gpu& gpu : out) {
      gpu.index = -1;
    }
  }
  machine.gpus = std::move(out);
  finish_machine(machine);
}

}  // namespace distinit
