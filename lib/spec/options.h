// SPDX-License-Identifier: Apache-2.0
#pragma once
// The table of options in a SPEC: each key with the values it takes. `--help` and the manual are
// made from it.

#include "lib/spec/spec.h"

#include <optional>
#include <span>
#include <string_view>

namespace distinit {

/// One option as a user reads about it.
struct OptionHelp {
  /// A key that ends in ".NAME" stands for all keys with a name of upper-case letters, digits and
  /// '_' in that place.
  std::string_view key;
  std::string_view value;    ///< the form of its value: "SECONDS", "agent|rank0"
  std::string_view summary;  ///< one line, no full stop
  std::string_view example;  ///< a value that is valid
};

/// All options, in the order of the manual.
std::span<const OptionHelp> option_helps();

/// Ok when `key` is known and `value` is valid for it; the kSpec error names both and the nearest
/// right spelling.
Status check_option(std::string_view key, std::string_view value);

/// True where `key` is the option's, or one of those that it stands for.
bool is_key_of(const OptionHelp& help, std::string_view key);

/// Bytes of a `limit.` value: "max" is UINT64_MAX, else a number with an optional K, M or G (powers
/// of 1024). nullopt for anything else.
std::optional<uint64_t> parse_limit(std::string_view value);

}  // namespace distinit
