// SPDX-License-Identifier: Apache-2.0
// `distinit doctor`: what was found on this host, and which settings would win.

#include "helper/command.h"
#include "helper/command_line.h"
#include "helper/doctor_checks.h"
#include "helper/nccl_conf_files.h"
#include "helper/topo_view.h"
#include "lib/base/exit_status.h"
#include "lib/base/fd.h"
#include "lib/base/host_address.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/topo/load_machine.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

extern char** environ;

namespace distinit {

namespace {

std::vector<Interface> list_interfaces() {
  std::map<std::string, Interface> by_name;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) {
    return {};
  }
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if ((entry->ifa_flags & IFF_UP) == 0) {
      continue;
    }
    Interface& interface = by_name[entry->ifa_name];
    interface.name = entry->ifa_name;
    interface.is_loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
    const int family = entry->ifa_addr == nullptr ? AF_UNSPEC : entry->ifa_addr->sa_family;
    if (family == AF_INET || family == AF_INET6) {
      sockaddr_storage storage{};
      std::copy_n(reinterpret_cast<const char*>(entry->ifa_addr),
                  family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6),
                  reinterpret_cast<char*>(&storage));
      const SocketAddress address(storage);
      if (!address.is_link_local()) {
        interface.addresses.push_back(address.host());
      }
    }
  }
  freeifaddrs(first);
  std::vector<Interface> out;
  for (auto& [name, interface] : by_name) {
    out.push_back(std::move(interface));
  }
  return out;
}

uint64_t soft_limit(__rlimit_resource_t resource) {
  rlimit limit{};
  return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur
                                                                             : kUnlimited;
}

HostFacts read_host() {
  HostFacts host;
  host.interfaces = list_interfaces();
  host.memlock_bytes = soft_limit(RLIMIT_MEMLOCK);
  host.open_files = soft_limit(RLIMIT_NOFILE);
  struct statvfs status {};
  if (statvfs("/dev/shm", &status) == 0) {
    host.shm_bytes = uint64_t{status.f_blocks} * status.f_frsize;
  }
  return host;
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, HOST_NAME_MAX);
  return name;
}

std::string limit_text(uint64_t value) {
  return value == kUnlimited ? "unlimited" : concat(value);
}

std::string list_or_none(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) {
    out += concat("  ", line, '\n');
  }
  return out.empty() ? "  none\n" : out;
}

std::vector<std::string> describe_interfaces(const HostFacts& host) {
  std::vector<std::string> lines;
  for (const Interface& interface : host.interfaces) {
    lines.push_back(
        concat(interface.name, interface.is_loopback ? " (loopback)" : "", ": ",
               interface.addresses.empty() ? "no address" : join(interface.addresses, ", ")));
  }
  return lines;
}

/// The GID of each RoCE port, as NCCL picks it.
std::vector<std::string> describe_gids(const Machine& machine) {
  std::vector<std::string> lines;
  for (const Hca& hca : machine.hcas) {
    if (hca.link != LinkLayer::kEthernet || hca.gids.empty()) {
      continue;
    }
    const auto gid = routable_gid(hca);
    lines.push_back(gid ? concat(port_name(hca), ": index ", gid->index, ", ", gid->text,
                                 gid->interface.empty() ? "" : " of ", gid->interface)
                        : concat(port_name(hca), ": none that routes"));
  }
  return lines;
}

std::string format_findings(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& finding : findings) {
    out += concat("finding: ", finding.what, '\n');
    if (!finding.hint.empty()) {
      out += concat("hint: ", finding.hint, '\n');
    }
  }
  return out.empty() ? "no findings\n" : out;
}

Status examine(const std::optional<std::string>& xml) {
  const Environment environment(environ);
  DISTINIT_ASSIGN_OR_RETURN(const TopoView view, view_machine(xml, 0));
  const HostFacts host = read_host();
  std::vector<Finding> findings = view.plan.findings;
  for (const auto& more :
       {view.plan.remarks, check_settings(environment, view.machine, view.plan, host),
        check_host(view.machine, host)}) {
    findings.insert(findings.end(), more.begin(), more.end());
  }
  const std::set<std::string> conf = nccl_conf_names(environment);
  std::string out = concat("distinit ", DISTINIT_VERSION, " on ", host_name(), "\n\n",
                           format_topo_text(view, false));
  out += concat("\nGIDs that RoCE will use\n", list_or_none(describe_gids(view.machine)));
  out += concat("\nnetwork interfaces that are up\n", list_or_none(describe_interfaces(host)));
  out += concat("\nlimits\n  memlock ", limit_text(host.memlock_bytes), ", nofile ",
                limit_text(host.open_files), ", /dev/shm ", host.shm_bytes >> 20, " MiB\n");
  out += concat("\nvariables here that win over distinit's, or decide what a job sees\n",
                list_or_none(deciding_variables(environment)));
  out += concat("\nset in NCCL's own files\n",
                list_or_none(std::vector<std::string>(conf.begin(), conf.end())));
  out += concat('\n', format_findings(findings));
  return write_all(STDOUT_FILENO, out);
}

int run_doctor(int argc, char** argv) {
  std::optional<std::string> xml;
  CLI::App app(
      "What was found on this host, which settings would win, and what is wrong with them.",
      "distinit doctor");
  app.add_option("--xml", xml, "take the topology from an hwloc or NCCL XML file")
      ->type_name("FILE");
  if (const auto status = parse_command_line(app, argc, argv)) {
    return *status;
  }
  const Status examined = examine(xml);
  if (!examined) {
    Log().error(examined.error());
    return exit_status(examined.error().code);
  }
  return kExitOk;
}

const CommandRegistration registration{
    {"doctor", "what was found on this host, and which settings would win", run_doctor}};

}  // namespace

}  // namespace distinit
