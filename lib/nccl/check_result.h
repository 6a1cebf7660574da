// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one rank has found out in the check, from its child by its agent to the root.

#include "lib/base/result.h"

#include <string>
#include <string_view>
#include <vector>

#include <stdint.h>

namespace distinit {

enum class CheckOutcome : uint8_t {
  kOk = 0,
  kUnable = 1,       ///< no rank of the step has what the check needs: `what` says what
  kFailed = 2,       ///< `what` and `hint` say why
  kConsequence = 3,  ///< ended because another rank failed; `what` is that rank's
};

/// One group as this rank saw it. Bandwidths are bus bandwidths, 10^9 bytes a second: algorithm
/// bandwidth times 2(n-1)/n (nccl-tests' PERFORMANCE.md); 0 in a group of one rank.
struct GroupFigures {
  std::string name;
  int index = 0;
  int position = 0;
  int size = 1;
  double seconds = 0;  ///< to bring it up
  double small_gbps = 0;
  double large_gbps = 0;

  bool operator==(const GroupFigures&) const = default;
};

struct CheckResult {
  int rank = 0;
  CheckOutcome outcome = CheckOutcome::kOk;
  std::string what;
  std::string hint;
  std::string library;  ///< path; empty where none was loaded
  int version = 0;      ///< ncclGetVersion
  bool by_split = false;
  std::string
      transport;  ///< "P2P/CUMEM", "NET/IB/0/GDRDMA", several with ',' between; may be empty
  std::string gpu_pci;
  std::string hcas;
  std::vector<GroupFigures> groups;

  bool operator==(const CheckResult&) const = default;
};

std::string encode_check_result(const CheckResult& result);
/// kInternal for anything else.
Result<CheckResult> decode_check_result(std::string_view text);

}  // namespace distinit
