// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/visible_gpus.h"

#include "lib/base/text.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <limits.h>

namespace distinit {

namespace {

/// One variable and its value.
struct Setting {
  std::string_view name;
  std::string_view value;
};

std::vector<int> all_gpus(const Machine& machine) {
  std::vector<int> all(machine.gpus.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// CUDA counts by bus with CUDA_DEVICE_ORDER=PCI_BUS_ID, as Slurm's numbers do.
bool is_vendors(const Machine& machine, GpuVendor vendor) {
  return !machine.gpus.empty() &&
         std::all_of(machine.gpus.begin(), machine.gpus.end(),
                     [vendor](const Gpu& gpu) { return gpu.vendor == vendor; });
}

std::vector<int> parse_numbers(std::string_view text) {
  std::vector<int> numbers;
  for (const std::string_view piece : split(text, ',')) {
    const auto number = parse_number(piece, 0, INT_MAX);
    if (!number) {
      return {};
    }
    numbers.push_back(static_cast<int>(*number));
  }
  return numbers;
}

/// N of /dev/nvidiaN where the machine knows those, else the vendor's number.
std::optional<int> find_number(const Machine& machine, int number) {
  const bool has_minors = std::any_of(machine.gpus.begin(), machine.gpus.end(),
                                      [](const Gpu& gpu) { return gpu.minor >= 0; });
  for (size_t i = 0; i < machine.gpus.size(); ++i) {
    if ((has_minors ? machine.gpus[i].minor : machine.gpus[i].index) == number) {
      return static_cast<int>(i);
    }
  }
  return std::nullopt;
}

/// What integers count: inside a device cgroup the GPUs that it allows, by their own numbers.
std::vector<int> counted_gpus(const Machine& machine, std::string_view value,
                              const std::string& step_gpus) {
  std::vector<int> listed = parse_numbers(value);
  std::vector<int> step = parse_numbers(step_gpus);
  std::sort(listed.begin(), listed.end());
  std::sort(step.begin(), step.end());
  std::vector<int> from_zero(listed.size());
  std::iota(from_zero.begin(), from_zero.end(), 0);
  if (listed.empty() || listed != from_zero || step.size() != listed.size() || step == listed) {
    return all_gpus(machine);
  }
  std::vector<int> allowed;
  for (const int number : step) {
    const auto gpu = find_number(machine, number);
    if (!gpu) {
      return all_gpus(machine);
    }
    allowed.push_back(*gpu);
  }
  return allowed;
}

/// Reads one list against the GPUs that it counts.
class ListReader {
 public:
  ListReader(const Machine& machine, Setting setting, std::vector<int> counted)
      : machine_(machine), setting_(setting), counted_(std::move(counted)) {}

  VisibleGpus read() {
    if (setting_.value.empty() || setting_.value == "-1" || setting_.value == "NoDevFiles" ||
        setting_.value == "none") {
      return std::move(out_);
    }
    for (const std::string_view entry : split(setting_.value, ',')) {
      if (!read_entry(entry)) {
        break;
      }
    }
    return std::move(out_);
  }

 private:
  bool read_entry(std::string_view entry) {
    // ZE_AFFINITY_MASK names tiles of a device as DEVICE.TILE.
    const std::string_view device =
        setting_.name == "ZE_AFFINITY_MASK" ? entry.substr(0, entry.find('.')) : entry;
    if (const auto number = parse_number(device, 0, INT_MAX)) {
      if (static_cast<size_t>(*number) >= counted_.size()) {
        return end(concat(" names GPU ", *number, ", but there ",
                          counted_.size() == 1 ? "is " : "are ", counted_.size(), " to count"));
      }
      return add(counted_[static_cast<size_t>(*number)], entry);
    }
    if (entry.starts_with("GPU-")) {
      return read_uuid(entry);
    }
    if (entry.starts_with("MIG-")) {
      return add(find_partition(entry), entry);
    }
    return end(concat(" has '", abbreviate(entry), "', which is no GPU"));
  }

  bool read_uuid(std::string_view entry) {
    std::vector<int> matches;
    bool knows_uuids = false;
    for (const int gpu : counted_) {
      if (gpu == kUnknownGpu) {
        continue;
      }
      const std::string& uuid = machine_.gpus[static_cast<size_t>(gpu)].uuid;
      knows_uuids |= !uuid.empty();
      if (uuid.starts_with(entry)) {
        matches.push_back(gpu);
      }
    }
    if (!knows_uuids) {
      return add(kUnknownGpu, entry);
    }
    if (matches.size() != 1) {
      return end(concat(" has ", abbreviate(entry), ", which fits ", matches.size(), " GPUs"));
    }
    return add(matches.front(), entry);
  }

  /// "MIG-GPU-UUID/G/C" names its place; of "MIG-UUID" only the driver knows it.
  int find_partition(std::string_view entry) const {
    std::vector<int> partitions;
    for (size_t i = 0; i < machine_.gpus.size(); ++i) {
      const Gpu& gpu = machine_.gpus[i];
      if (gpu.partition < 0) {
        continue;
      }
      partitions.push_back(static_cast<int>(i));
      if (!gpu.uuid.empty() && gpu.name.starts_with("MIG ") &&
          entry == concat("MIG-", gpu.uuid, "/", std::string_view(gpu.name).substr(4))) {
        return static_cast<int>(i);
      }
    }
    return partitions.size() == 1 ? partitions.front() : kUnknownGpu;
  }

  bool add(int gpu, std::string_view entry) {
    const bool is_twice = gpu != kUnknownGpu && setting_.name != "ZE_AFFINITY_MASK" &&
                          std::find(out_.gpus.begin(), out_.gpus.end(), gpu) != out_.gpus.end();
    if (is_twice) {
      return end(concat(" names ", abbreviate(entry), " twice"));
    }
    const bool is_other_tile = gpu != kUnknownGpu && !out_.gpus.empty() && out_.gpus.back() == gpu;
    if (!is_other_tile) {
      out_.gpus.push_back(gpu);
    }
    return true;
  }

  bool end(const std::string& why) {
    out_.findings.push_back(
        Finding{concat(setting_.name, "=", abbreviate(setting_.value), why),
                "programs see the entries before it, if any: let Slurm set the variable "
                "(--gpus-per-node=N), or correct it"});
    return false;
  }

  const Machine& machine_;
  Setting setting_;
  std::vector<int> counted_;
  VisibleGpus out_;
};

/// ROCm: the runtime filters and renumbers, then HIP (or CUDA's name for it) filters what is left.
VisibleGpus visible_amd(const Machine& machine, const TaskGrant& task) {
  VisibleGpus base{all_gpus(machine), {}};
  if (task.has_rocr) {
    const Setting rocr{"ROCR_VISIBLE_DEVICES", task.rocr};
    base = ListReader(machine, rocr, counted_gpus(machine, task.rocr, task.step_gpus)).read();
  }
  if (!task.has_hip && !task.has_cuda) {
    return base;
  }
  const Setting second = task.has_hip ? Setting{"HIP_VISIBLE_DEVICES", task.hip}
                                      : Setting{"CUDA_VISIBLE_DEVICES", task.cuda};
  const auto counted =
      task.has_rocr ? base.gpus : counted_gpus(machine, second.value, task.step_gpus);
  VisibleGpus out = ListReader(machine, second, counted).read();
  if (task.has_rocr && !out.findings.empty()) {
    out.findings.front().hint = concat(
        "it counts what ROCR_VISIBLE_DEVICES=", abbreviate(task.rocr),
        " has left, from 0: unset one of them, or have gres.conf set one alone (AutoDetect=rsmi, "
        "Flags=amd_gpu_env)");
  }
  out.findings.insert(out.findings.begin(), base.findings.begin(), base.findings.end());
  return out;
}

std::optional<Setting> deciding_variable(const Machine& machine, const TaskGrant& task) {
  if (is_vendors(machine, GpuVendor::kIntel)) {
    return task.has_ze ? std::optional(Setting{"ZE_AFFINITY_MASK", task.ze}) : std::nullopt;
  }
  if (task.has_cuda) {
    return Setting{"CUDA_VISIBLE_DEVICES", task.cuda};
  }
  if (is_vendors(machine, GpuVendor::kNvidia)) {
    return std::nullopt;
  }
  if (task.has_hip) {
    return Setting{"HIP_VISIBLE_DEVICES", task.hip};
  }
  if (task.has_rocr) {
    return Setting{"ROCR_VISIBLE_DEVICES", task.rocr};
  }
  return task.has_ze ? std::optional(Setting{"ZE_AFFINITY_MASK", task.ze}) : std::nullopt;
}

}  // namespace

VisibleGpus visible_gpus(const Machine& machine, const TaskGrant& task) {
  if (is_vendors(machine, GpuVendor::kAmd)) {
    return visible_amd(machine, task);
  }
  const auto setting = deciding_variable(machine, task);
  if (!setting) {
    return VisibleGpus{all_gpus(machine), {}};
  }
  return ListReader(machine, *setting, counted_gpus(machine, setting->value, task.step_gpus))
      .read();
}

}  // namespace distinit
