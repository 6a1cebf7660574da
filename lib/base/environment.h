// SPDX-License-Identifier: Apache-2.0
#pragma once
// A process environment as a value: read once, edited, written out. Nothing here touches `environ`.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distinit {

/// Names and values, ordered by name. An entry without '=' is dropped; of two equal names the first
/// wins, as getenv has it.
class Environment {
 public:
  Environment() = default;
  /// Copies a null-terminated array such as `environ`; a null pointer gives an empty environment.
  explicit Environment(char* const* entries);
  explicit Environment(const std::vector<std::string>& entries);

  /// The value, valid until that name is changed; nullopt where the name is not set.
  std::optional<std::string_view> get(std::string_view name) const;
  /// The value, or `otherwise`. An empty value counts as set.
  std::string get_or(std::string_view name, std::string_view otherwise) const;
  bool has(std::string_view name) const { return get(name).has_value(); }

  void set(std::string_view name, std::string_view value);
  void unset(std::string_view name);

  /// "NAME=value" for each entry, ordered by name.
  std::vector<std::string> entries() const;
  const std::map<std::string, std::string, std::less<>>& values() const { return values_; }

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace distinit
