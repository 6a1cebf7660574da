// SPDX-License-Identifier: Apache-2.0
#include "lib/store/dialect.h"

#include <algorithm>
#include <array>
#include <span>

namespace distinit {

namespace {

using enum Operation;

// The index is the command byte.
constexpr std::array kCommandsD0{kSet, kGet, kAdd, kCheck, kWait, kCountKeys, kDelete};
constexpr std::array kCommandsD1{kSet,  kCompareSet, kGet,   kAdd,   kCheck,
                                 kWait, kCountKeys,  kWatch, kDelete};
constexpr std::array kCommandsD2{kSet,    kCompareSet, kGet,       kAdd,
                                 kCheck,  kWait,       kCountKeys, kDelete,
                                 kAppend, kMultiGet,   kMultiSet,  kCancelWait};
constexpr std::array kCommandsD3{kValidate, kSet,         kCompareSet, kGet,    kAdd,
                                 kCheck,    kWait,        kCountKeys,  kDelete, kAppend,
                                 kMultiGet, kMultiSet,    kCancelWait, kPing,   kQueuePush,
                                 kQueuePop, kQueueLength, kListKeys,   kBarrier};
// What D1 and D2 have in common.
constexpr size_t kSharedCommands = 7;
// D2's own.
constexpr uint8_t kFirstOfD2 = 9;
constexpr uint8_t kLastOfD2 = 11;

constexpr std::string_view kValidateBytes("\x00\xCE\xF7\x85\x3C", 5);
constexpr std::string_view kAddInitD0("\x02\x05\0\0\0\0\0\0\0init/", 14);

std::span<const Operation> commands_of(Dialect dialect) {
  switch (dialect) {
    case Dialect::kD0:
      return kCommandsD0;
    case Dialect::kD1:
      return kCommandsD1;
    case Dialect::kD2:
      return kCommandsD2;
    case Dialect::kD1OrD2:
      return std::span(kCommandsD1).first(kSharedCommands);
    case Dialect::kD3:
      return kCommandsD3;
  }
  return {};
}

// kNeedMore while `bytes` may still become `wanted`; `hit` when it starts with it; else nullopt.
std::optional<Opening> match(std::string_view bytes, std::string_view wanted, Opening hit) {
  const size_t common = std::min(bytes.size(), wanted.size());
  if (bytes.substr(0, common) != wanted.substr(0, common)) {
    return std::nullopt;
  }
  return common == wanted.size() ? hit : Opening::kNeedMore;
}

}  // namespace

std::optional<Operation> operation_for(Dialect dialect, uint8_t command) {
  const auto commands = commands_of(dialect);
  if (command < commands.size()) {
    return commands[command];
  }
  return std::nullopt;
}

std::optional<uint8_t> command_for(Dialect dialect, Operation operation) {
  const auto commands = commands_of(dialect);
  const auto found = std::find(commands.begin(), commands.end(), operation);
  if (found == commands.end()) {
    return std::nullopt;
  }
  return static_cast<uint8_t>(found - commands.begin());
}

std::optional<Dialect> settle_by_command(uint8_t command, bool has_silent_companion) {
  if (command >= kFirstOfD2 && command <= kLastOfD2) {
    return Dialect::kD2;
  }
  if (command < kSharedCommands || command > kLastOfD2) {
    return std::nullopt;
  }
  return has_silent_companion ? Dialect::kD1 : Dialect::kD2;
}

Opening read_opening(std::string_view bytes, std::string_view foreign_preamble) {
  if (bytes.empty()) {
    return Opening::kNeedMore;
  }
  if (!foreign_preamble.empty()) {
    if (const auto opening = match(bytes, foreign_preamble, Opening::kForeign)) {
      return *opening;
    }
  }
  const auto first = static_cast<uint8_t>(bytes.front());
  if (first == 0) {
    if (const auto opening = match(bytes, kValidateBytes, Opening::kD3)) {
      return *opening;
    }
    // As the SET of an older dialect, two right bytes would already announce a key of 63 kB.
    return bytes.starts_with(kValidateBytes.substr(0, 3)) ? Opening::kGarbage : Opening::kD1OrD2;
  }
  if (first == 2) {
    // A D1 or D2 client never begins with GET: it asks WAIT first.
    return match(bytes, kAddInitD0, Opening::kD0).value_or(Opening::kD1OrD2);
  }
  return first <= kLastOfD2 ? Opening::kD1OrD2 : Opening::kGarbage;
}

}  // namespace distinit
