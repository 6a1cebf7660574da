// SPDX-License-Identifier: Apache-2.0
#pragma once
// What went wrong, as a value: one code that decides the exit status, one sentence, one hint.
// Inner layers add context and return; only `main`, the agent and the hooks print.

#include <string>
#include <string_view>

namespace distinit {

/// The kinds of failure. Each maps to one exit status, see exit_status.h.
enum class ErrorCode {
  kUsage,          ///< command line, configuration
  kSpec,           ///< the SPEC language
  kLayout,         ///< sizes and nodes do not fit together
  kRendezvous,     ///< agents, store, deadlines
  kTopology,       ///< GPUs, HCAs, CPUs
  kCommunicator,   ///< NCCL
  kInternal,       ///< ours
  kNotExecutable,  ///< the program was found and cannot be run
  kNotFound,       ///< the program was not found
};

/// One failure. `what` is lower case, without a full stop, and names the value seen; `hint` says
/// what to do and may be empty; `sys_errno` is 0 unless a system call failed.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string what;
  std::string hint;
  int sys_errno = 0;

  bool operator==(const Error&) const = default;
};

/// An Error whose text ends in strerror(`saved_errno`).
Error system_error(ErrorCode code, std::string what, int saved_errno, std::string hint = {});

/// Puts "`context`: " in front of what went wrong.
Error with_context(Error error, std::string_view context);

/// "what" and, on a second line, "hint: …" where there is one; no trailing newline.
std::string format_error(const Error& error);

}  // namespace distinit
