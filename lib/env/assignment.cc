// SPDX-License-Identifier: Apache-2.0
#include "lib/env/assignment.h"

#include "lib/base/text.h"
#include "lib/spec/protocol.h"

#include <algorithm>

#include <stdint.h>

namespace distinit {

namespace {

constexpr std::string_view kExportedVariable = "DISTINIT_EXPORTED";

/// FNV-1a.
std::string hash_value(std::string_view value) {
  uint32_t hash = 0x811c9dc5;
  for (const char c : value) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193;
  }
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes += static_cast<char>(hash >> shift & 0xff);
  }
  return to_hex(bytes);
}

std::string source_line(const std::string& name, std::string_view value) {
  return concat(name, '=', abbreviate(value));
}

void append_exported(std::string& exported, const Assignment& assignment) {
  const std::string entry =
      concat(exported.empty() ? "" : ",", assignment.name, ':', hash_value(assignment.value));
  if (exported.size() + entry.size() <= kLongestExported) {
    exported += entry;
  }
}

}  // namespace

bool is_inherited(const Environment& task_environment, std::string_view name) {
  const auto value = task_environment.get(name);
  const auto exported = task_environment.get(kExportedVariable);
  if (!value || !exported) {
    return false;
  }
  const std::string wanted = concat(name, ':', hash_value(*value));
  const auto entries = split(*exported, ',');
  return std::find(entries.begin(), entries.end(), wanted) != entries.end();
}

AppliedEnvironment apply_assignments(const std::vector<Assignment>& assignments,
                                     const Environment& task_environment) {
  AppliedEnvironment out;
  std::string exported;
  std::vector<std::string_view> known;
  for (const Assignment& assignment : assignments) {
    known.push_back(assignment.name);
    const auto present = task_environment.get(assignment.name);
    const bool users = present && !is_inherited(task_environment, assignment.name);
    if (users && assignment.kind == AssignmentKind::kDefault) {
      out.kept.push_back(source_line(assignment.name, *present));
      continue;
    }
    if (users && assignment.kind == AssignmentKind::kIdentity && *present != assignment.value) {
      out.findings.push_back(
          Finding{concat(assignment.name, "=", abbreviate(*present),
                         " was set before the step and is ", assignment.value, " here"),
                  concat("unset ", assignment.name, " before srun: no one value fits every rank")});
    }
    if (assignment.kind == AssignmentKind::kAbsent) {
      if (users) {
        out.findings.push_back(Finding{concat(assignment.name, "=", abbreviate(*present),
                                              " was set before the step and is not set here"),
                                       concat("unset ", assignment.name, " before srun")});
      }
      out.unset.push_back(assignment.name);
      continue;
    }
    out.set.push_back(concat(assignment.name, '=', assignment.value));
    append_exported(exported, assignment);
    // What the agent decided on can be just what the user had asked for.
    const bool agreed =
        users && assignment.kind == AssignmentKind::kEndpoint && *present == assignment.value;
    (agreed ? out.kept : out.ours).push_back(source_line(assignment.name, assignment.value));
  }
  out.set.push_back(concat(kExportedVariable, '=', exported));
  for (const auto& [name, value] : task_environment.values()) {
    const bool ours_before = is_inherited(task_environment, name) &&
                             std::find(known.begin(), known.end(), name) == known.end();
    if (is_private_variable(name) || ours_before) {
      out.unset.push_back(name);
    }
  }
  // The task may have others of these by the time they are applied, from a prolog or a container.
  for (const std::string_view name :
       {kDefaultSpecVariable, kSpecVariable, kSecretVariable, kStepVariable, kRootNodeVariable,
        kRootAddressVariable, kStartTimeVariable, kCpuBindVariable, kOptionVariable}) {
    if (std::find(out.unset.begin(), out.unset.end(), name) == out.unset.end()) {
      out.unset.emplace_back(name);
    }
  }
  return out;
}

UserEndpoint user_endpoint(const Environment& task_environment) {
  UserEndpoint out;
  if (const auto addr = task_environment.get("MASTER_ADDR");
      addr && !addr->empty() && !is_inherited(task_environment, "MASTER_ADDR")) {
    out.addr = *addr;
  }
  if (const auto port = task_environment.get("MASTER_PORT");
      port && !is_inherited(task_environment, "MASTER_PORT")) {
    if (const auto number = parse_number(*port, 1, 65535)) {
      out.port = static_cast<int>(*number);
    }
  }
  return out;
}

}  // namespace distinit
