// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every rank says, said once.

#include "lib/base/log.h"

#include <string>
#include <vector>

namespace distinit {

/// Prints an error of the form "rank R on NODE: reason" unless one with the same reason was printed
/// before.
class PrintOnce {
 public:
  void print(const Log& log, const Error& error);

 private:
  std::vector<std::string> reasons_;
};

}  // namespace distinit
