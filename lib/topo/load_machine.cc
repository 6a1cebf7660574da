// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/load_machine.h"

#include "lib/base/fd.h"
#include "lib/base/text.h"
#include "lib/topo/readers.h"

#include <errno.h>
#include <sys/stat.h>

namespace distinit {

namespace {

constexpr size_t kMostBytes = size_t{64} << 20;
constexpr const char* kFileHint = "name an XML file that every node can read";

Error not_a_file(const std::string& path, std::string_view why) {
  return {ErrorCode::kTopology, concat(path, ": ", why), kFileHint, 0};
}

Result<std::string> read_topology(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return system_error(ErrorCode::kTopology, path, errno, kFileHint);
  }
  if (S_ISDIR(status.st_mode)) {
    return not_a_file(path, "is a folder");
  }
  // Opening a FIFO waits for whoever writes it.
  if (!S_ISREG(status.st_mode)) {
    return not_a_file(path, "is not a regular file");
  }
  if (static_cast<size_t>(status.st_size) > kMostBytes) {
    return not_a_file(path, concat("has ", status.st_size, " bytes, more than the ", kMostBytes,
                                   " that a machine may have"));
  }
  auto content = read_file(path, kMostBytes);
  if (!content) {
    Error error = std::move(content).error();
    error.code = ErrorCode::kTopology;
    error.hint = kFileHint;
    return error;
  }
  return content;
}

/// No program can open a device that libibverbs does not list: no driver for it in this user space,
/// or no /dev/infiniband.
void mark_unlisted(Discovery& found) {
  const auto listed = list_verbs_devices();
  if (!listed) {
    found.findings.push_back({listed.error().what, listed.error().hint});
    return;
  }
  for (Hca& hca : found.machine.hcas) {
    hca.is_unlisted = hca.link != LinkLayer::kSlingshot && !listed->contains(hca.name);
  }
}

}  // namespace

Result<Machine> load_machine_file(const std::string& path) {
  DISTINIT_ASSIGN_OR_RETURN(const std::string xml, read_topology(path));
  DISTINIT_ASSIGN_OR_RETURN(const XmlKind kind, check_xml(xml, path));
  return kind == XmlKind::kHwloc ? machine_from_hwloc_xml(xml, path)
                                 : machine_from_nccl_xml(xml, path);
}

Result<Discovery> discover_machine(const SystemRoots& roots) {
  DISTINIT_ASSIGN_OR_RETURN(Machine machine, machine_from_hwloc(roots));
  Discovery found;
  found.machine = std::move(machine);
  read_hcas(roots, found.machine);
  read_gpu_facts(roots, found.machine);
  // libibverbs knows the running node alone.
  if (roots.sysfs.empty() && roots.proc.empty()) {
    mark_unlisted(found);
  }
  return found;
}

}  // namespace distinit
