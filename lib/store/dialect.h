// SPDX-License-Identifier: Apache-2.0
#pragma once
// The TCPStore protocol has no version field, and its command numbers changed three times. This is
// how a server tells the dialects apart, and which number means what in each.
// Source: PyTorch's TCPStore in its releases, and captures of them.

#include <optional>
#include <string_view>

#include <stddef.h>
#include <stdint.h>

namespace distinit {

enum class Dialect {
  kD0,      ///< PyTorch 1.7, 1.8
  kD1,      ///< 1.9 to 2.0: a second, silent connection a client
  kD2,      ///< 2.1
  kD1OrD2,  ///< the same numbers up to 6; the first higher one decides
  kD3,      ///< 2.2 and later: starts with VALIDATE
};

/// What a client can ask for, in every dialect together.
enum class Operation : uint8_t {
  kValidate,
  kSet,
  kCompareSet,
  kGet,
  kAdd,
  kCheck,
  kWait,
  kCountKeys,
  kWatch,
  kDelete,
  kAppend,
  kMultiGet,
  kMultiSet,
  kCancelWait,
  kPing,
  kQueuePush,
  kQueuePop,
  kQueueLength,
  kListKeys,
  kBarrier,
};

/// VALIDATE's argument.
constexpr uint32_t kValidateMagic = 0x3C85F7CE;
/// Where each client of a known world size counts itself; the only key without a leading slash.
constexpr std::string_view kInitKey = "init/";

/// The operation that a command byte stands for; nullopt where the dialect has none. For kD1OrD2
/// the bytes 7 and 8 give none (see settle_by_command), 9 to 11 are D2's.
std::optional<Operation> operation_for(Dialect dialect, uint8_t command);
/// The command byte; nullopt where the dialect lacks the operation.
std::optional<uint8_t> command_for(Dialect dialect, Operation operation);

/// What kD1OrD2 becomes at this command: D2 for 9 to 11; for 7 and 8, whose meanings differ, D1
/// where the client has a second, silent connection; nullopt: still either.
std::optional<Dialect> settle_by_command(uint8_t command, bool has_silent_companion);

/// What a connection's first bytes say.
enum class Opening {
  kNeedMore,  ///< nothing certain yet
  kD0,
  kD1OrD2,
  kD3,
  kForeign,  ///< starts with the other protocol's preamble
  kGarbage,  ///< none of ours: a port scanner, HTTP, TLS
};
/// Judges `bytes`, all that has been read so far. `foreign_preamble` may be empty: no other
/// protocol is expected. At most 32 bytes are ever needed.
Opening read_opening(std::string_view bytes, std::string_view foreign_preamble);

}  // namespace distinit
