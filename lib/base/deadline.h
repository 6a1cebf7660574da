// SPDX-License-Identifier: Apache-2.0
#pragma once
// A point in time by which something must have happened. Every wait takes one.

#include <chrono>

namespace distinit {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

class Deadline {
 public:
  explicit Deadline(milliseconds from_now) : at_(Clock::now() + from_now) {}
  explicit Deadline(Clock::time_point at) : at_(at) {}

  Clock::time_point at() const { return at_; }
  bool has_passed() const { return Clock::now() >= at_; }
  /// Time left, rounded up to a whole millisecond so that a poll never spins; 0 when it has passed.
  milliseconds remaining() const {
    const auto left = std::chrono::ceil<milliseconds>(at_ - Clock::now());
    return left < milliseconds(0) ? milliseconds(0) : left;
  }

 private:
  Clock::time_point at_;
};

}  // namespace distinit
