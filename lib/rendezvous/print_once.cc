// SPDX-License-Identifier: Apache-2.0
#include "lib/rendezvous/print_once.h"

#include <algorithm>

namespace distinit {

void PrintOnce::print(const Log& log, const Error& error) {
  const std::string reason = error.what.substr(std::min(error.what.find(": "), error.what.size()));
  if (std::find(reasons_.begin(), reasons_.end(), reason) == reasons_.end()) {
    reasons_.push_back(reason);
    log.error(error);
  }
}

}  // namespace distinit
