// SPDX-License-Identifier: Apache-2.0
#pragma once
// Exit statuses of every command, in one table. distinit(1) documents the same table.

#include "lib/base/error.h"

namespace distinit {

enum ExitStatus : int {
  kExitOk = 0,
  kExitUsage = 2,       ///< command line or SPEC
  kExitLayout = 3,      ///< the layout does not fit
  kExitRendezvous = 4,  ///< agents or store
  kExitTopology = 5,
  kExitCommunicator = 6,
  kExitInternal = 70,
  kExitNotExecutable = 126,  ///< as a shell's
  kExitNotFound = 127,       ///< as a shell's
};

constexpr int exit_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
    case ErrorCode::kSpec:
      return kExitUsage;
    case ErrorCode::kLayout:
      return kExitLayout;
    case ErrorCode::kRendezvous:
      return kExitRendezvous;
    case ErrorCode::kTopology:
      return kExitTopology;
    case ErrorCode::kCommunicator:
      return kExitCommunicator;
    case ErrorCode::kNotExecutable:
      return kExitNotExecutable;
    case ErrorCode::kNotFound:
      return kExitNotFound;
    case ErrorCode::kInternal:
      break;
  }
  return kExitInternal;
}

}  // namespace distinit
