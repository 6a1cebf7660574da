// SPDX-License-Identifier: Apache-2.0
#include "lib/base/environment.h"

namespace distinit {

namespace {

void add_entry(std::map<std::string, std::string, std::less<>>& values, std::string_view entry) {
  const size_t at = entry.find('=');
  if (at == std::string_view::npos || at == 0) {
    return;
  }
  values.emplace(entry.substr(0, at), entry.substr(at + 1));
}

}  // namespace

Environment::Environment(char* const* entries) {
  for (; entries != nullptr && *entries != nullptr; ++entries) {
    add_entry(values_, *entries);
  }
}

Environment::Environment(const std::vector<std::string>& entries) {
  for (const std::string& entry : entries) {
    add_entry(values_, entry);
  }
}

std::optional<std::string_view> Environment::get(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    return std::nullopt;
  }
  return found->second;
}

std::string Environment::get_or(std::string_view name, std::string_view otherwise) const {
  return std::string(get(name).value_or(otherwise));
}

void Environment::set(std::string_view name, std::string_view value) {
  values_.insert_or_assign(std::string(name), std::string(value));
}

void Environment::unset(std::string_view name) {
  if (const auto found = values_.find(name); found != values_.end()) {
    values_.erase(found);
  }
}

std::vector<std::string> Environment::entries() const {
  std::vector<std::string> out;
  out.reserve(values_.size());
  for (const auto& [name, value] : values_) {
    out.push_back(name + "=" + value);
  }
  return out;
}

}  // namespace distinit
