// SPDX-License-Identifier: Apache-2.0
#pragma once
// From what the families want to what a task gets: a user's own setting wins, unless no single
// value could be right; a value inherited from an outer distinit step is not the user's.

#include "lib/base/environment.h"
#include "lib/base/finding.h"

#include <optional>
#include <string>
#include <vector>

namespace distinit {

/// Who wins when the task's environment has the variable already.
enum class AssignmentKind {
  kIdentity,  ///< one value per rank or step: ours, with a finding when a different one is replaced
  kEndpoint,  ///< decided by the agent, who knows the user's: ours, without a finding
  kDefault,   ///< the user's
  kAbsent,    ///< nobody: it must not be set here, and a finding says so when the user has set it
};

struct Assignment {
  std::string name;
  std::string value;
  AssignmentKind kind = AssignmentKind::kDefault;

  bool operator==(const Assignment&) const = default;
};

/// What a task's environment is changed by.
struct AppliedEnvironment {
  std::vector<std::string> set;    ///< "NAME=value"
  std::vector<std::string> unset;  ///< names: ours from outside, and those never meant for programs
  std::vector<Finding> findings;   ///< replaced settings of the user
  std::vector<std::string> ours;   ///< "NAME=value" abbreviated, for DISTINIT_LOG=info
  std::vector<std::string> kept;   ///< the same of the user's own settings that won
};

/// Longest DISTINIT_EXPORTED: one variable may have 128 KiB at most (execve(2), MAX_ARG_STRLEN).
constexpr size_t kLongestExported = 65536;

/// Also sets DISTINIT_EXPORTED, "NAME:HASH,…" of everything set here (FNV-1a, 32 bits,
/// hexadecimal), by which an inner step knows these values for ours as long as nobody has changed
/// them. Assignments that come after the list is full are set, but not listed.
AppliedEnvironment apply_assignments(const std::vector<Assignment>& assignments,
                                     const Environment& task_environment);

/// True for a variable that an outer distinit step has set and nobody has changed since.
bool is_inherited(const Environment& task_environment, std::string_view name);

/// MASTER_ADDR and MASTER_PORT where the user has set them (inherited ones left out); a port that
/// is no port counts as not set.
struct UserEndpoint {
  std::optional<std::string> addr;
  std::optional<int> port;
};
UserEndpoint user_endpoint(const Environment& task_environment);

}  // namespace distinit
