// SPDX-License-Identifier: Apache-2.0
#include "helper/doctor_checks.h"

#include "lib/base/text.h"

#include <algorithm>
#include <set>

namespace distinit {

namespace {

constexpr std::string_view kDeciding[] = {
    "CUDA_VISIBLE_DEVICES", "DISTINIT_LOG",   "DISTINIT_TOPOLOGY", "GLOO_SOCKET_IFNAME",
    "HIP_VISIBLE_DEVICES",  "MASTER_ADDR",    "MASTER_PORT",       "OMP_NUM_THREADS",
    "ROCR_VISIBLE_DEVICES", "SLURM_DISTINIT", "TP_SOCKET_IFNAME",  "UCX_NET_DEVICES",
    "ZE_AFFINITY_MASK",
};

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint64_t kFewFiles = 4096;

/// NCCL's lists (src/misc/utils.cc, parseStringList): '^' excludes, '=' wants exact names, both
/// hold for the whole list.
struct NcclList {
  bool excludes = false;
  bool is_exact = false;
  std::vector<std::string> names;  ///< without ":port"
};

NcclList parse_nccl_list(std::string_view text, bool has_ports) {
  NcclList list;
  if (text.starts_with('^')) {
    list.excludes = true;
    text.remove_prefix(1);
  }
  if (text.starts_with('=')) {
    list.is_exact = true;
    text.remove_prefix(1);
  }
  for (const std::string_view piece : split(text, ',')) {
    const std::string_view name = has_ports ? piece.substr(0, piece.find(':')) : piece;
    if (!name.empty()) {
      list.names.emplace_back(name);
    }
  }
  return list;
}

bool matches(const std::string& name, const std::string& wanted, bool is_exact) {
  return is_exact ? name == wanted : name.starts_with(wanted);
}

std::string setting(const Environment& environment, std::string_view name) {
  return concat(name, '=', abbreviate(environment.get_or(name, "")));
}

void check_ib_hca(const Environment& environment, const Machine& machine,
                  std::vector<Finding>& findings) {
  const auto value = environment.get("NCCL_IB_HCA");
  if (!value) {
    return;
  }
  const NcclList list = parse_nccl_list(*value, true);
  for (const std::string& wanted : list.names) {
    std::set<std::string> found;
    for (const Hca& hca : machine.hcas) {
      if (matches(hca.name, wanted, list.is_exact)) {
        found.insert(hca.name);
      }
    }
    if (found.empty()) {
      findings.push_back(Finding{concat(setting(environment, "NCCL_IB_HCA"), " names ", wanted,
                                        ", which this host does not have"),
                                 "unset it, and distinit sets the ports that are usable"});
      continue;
    }
    // "mlx5" is meant as a prefix; "mlx5_1" hardly is.
    found.erase(wanted);
    const bool is_numbered =
        parse_number(wanted.substr(wanted.rfind('_') + 1), 0, 9999).has_value();
    if (is_numbered && !found.empty()) {
      findings.push_back(
          Finding{concat(setting(environment, "NCCL_IB_HCA"), ": ", wanted, " is a prefix of ",
                         join(std::vector<std::string>(found.begin(), found.end()), ","), " too"),
                  concat("write '=' in front: NCCL_IB_HCA==", abbreviate(*value))});
    }
  }
}

void check_interface(const Environment& environment, std::string_view name, bool is_nccl,
                     const HostFacts& host, std::vector<Finding>& findings) {
  const auto value = environment.get(name);
  if (!value || value->empty()) {
    return;
  }
  NcclList list = parse_nccl_list(*value, false);
  if (!is_nccl) {
    list = NcclList{false, true, list.names};
  }
  const bool any = std::any_of(
      host.interfaces.begin(), host.interfaces.end(), [&list](const Interface& interface) {
        const bool listed =
            std::any_of(list.names.begin(), list.names.end(), [&](const std::string& wanted) {
              return matches(interface.name, wanted, list.is_exact);
            });
        return listed != list.excludes;
      });
  if (!any) {
    findings.push_back(
        Finding{concat(setting(environment, name), " fits no interface of this host that is up"),
                "unset it, and distinit sets the one that reaches the other nodes"});
  }
}

void check_value(const Environment& environment, std::string_view name, std::string_view value,
                 std::string_view what, std::string_view hint, std::vector<Finding>& findings) {
  if (environment.get(name) == value) {
    findings.push_back(Finding{concat(name, '=', value, ' ', what), std::string(hint)});
  }
}

}  // namespace

std::vector<std::string> deciding_variables(const Environment& environment) {
  std::vector<std::string> out;
  for (const auto& [name, value] : environment.values()) {
    const bool known =
        std::find(std::begin(kDeciding), std::end(kDeciding), name) != std::end(kDeciding);
    if (known || name.starts_with("NCCL_")) {
      out.push_back(setting(environment, name));
    }
  }
  return out;
}

std::vector<Finding> check_settings(const Environment& environment, const Machine& machine,
                                    const NodePlan& plan, const HostFacts& host) {
  std::vector<Finding> findings;
  if (environment.has("NCCL_COMM_ID")) {
    findings.push_back(Finding{
        concat(setting(environment, "NCCL_COMM_ID"), " gives every communicator the same address"),
        "unset it: a job with more than one group can't start with it"});
  }
  check_ib_hca(environment, machine, findings);
  if (std::any_of(plan.ports.begin(), plan.ports.end(),
                  [](const PortVerdict& port) { return port.usable; })) {
    check_value(environment, "NCCL_IB_DISABLE", "1", "turns usable HCAs off",
                "unset it, unless TCP is meant", findings);
  }
  check_value(environment, "NCCL_IGNORE_CPU_AFFINITY", "1", "undoes the binding of CPUs",
              "unset it", findings);
  check_interface(environment, "NCCL_SOCKET_IFNAME", true, host, findings);
  check_interface(environment, "GLOO_SOCKET_IFNAME", false, host, findings);
  check_interface(environment, "TP_SOCKET_IFNAME", false, host, findings);
  if (const auto port = environment.get("MASTER_PORT"); port && !parse_number(*port, 1, 65535)) {
    findings.push_back(
        Finding{concat(setting(environment, "MASTER_PORT"), " is no port, and is not used"),
                "unset it, or set a number from 1 to 65535"});
  }
  return findings;
}

std::vector<Finding> check_host(const Machine& machine, const HostFacts& host) {
  std::vector<Finding> findings;
  if (!machine.hcas.empty() && host.memlock_bytes != kUnlimited) {
    findings.push_back(Finding{
        concat("locked memory is limited to ", host.memlock_bytes / 1024,
               " KiB, and HCAs need more"),
        "LimitMEMLOCK=infinity for slurmd, PropagateResourceLimitsExcept=MEMLOCK in slurm.conf, "
        "or limit.memlock=max where the hard limit allows"});
  }
  if (host.open_files < kFewFiles) {
    findings.push_back(
        Finding{concat("a process may open ", host.open_files, " files"),
                "limit.nofile=max raises it for the job as far as the hard limit goes"});
  }
  if (!machine.gpus.empty() && host.shm_bytes < kGiB) {
    findings.push_back(
        Finding{concat("/dev/shm holds ", host.shm_bytes >> 20, " MiB"),
                "NCCL and data loaders need more: mount -o remount,size=50% /dev/shm, or "
                "the container's --shm-size"});
  }
  return findings;
}

}  // namespace distinit
