// SPDX-License-Identifier: Apache-2.0
#include "lib/base/log.h"

#include "lib/base/fd.h"
#include "lib/base/nearest.h"
#include "lib/base/text.h"

#include <array>
#include <utility>

namespace distinit {

namespace {

constexpr std::array<std::pair<std::string_view, LogLevel>, 5> kLevels = {{
    {"none", LogLevel::kNone},
    {"error", LogLevel::kError},
    {"warn", LogLevel::kWarn},
    {"info", LogLevel::kInfo},
    {"debug", LogLevel::kDebug},
}};

Result<LogLevel> parse_level(std::string_view word) {
  std::vector<std::string_view> known;
  for (const auto& [name, level] : kLevels) {
    if (name == word) {
      return level;
    }
    known.push_back(name);
  }
  const std::string_view near = nearest(word, known);
  return Error{ErrorCode::kUsage, concat("DISTINIT_LOG: unknown level '", abbreviate(word), "'"),
               near.empty() ? "use none, error, warn, info or debug, or MODULE:LEVEL"
                            : concat("did you mean '", near, "'?"),
               0};
}

}  // namespace

Result<LogFilter> parse_log_filter(std::string_view text) {
  LogFilter filter;
  if (text.empty()) {
    return filter;
  }
  for (const std::string_view item : split(text, ',')) {
    const size_t colon = item.find(':');
    if (colon == std::string_view::npos) {
      DISTINIT_ASSIGN_OR_RETURN(filter.level, parse_level(item));
    } else {
      DISTINIT_ASSIGN_OR_RETURN(const LogLevel level, parse_level(item.substr(colon + 1)));
      filter.modules.insert_or_assign(std::string(item.substr(0, colon)), level);
    }
  }
  return filter;
}

bool Log::is_on(LogLevel level, std::string_view module) const {
  if (!muted_until_.has_passed()) {
    return false;
  }
  if (!module.empty()) {
    if (const auto found = filter_.modules.find(module); found != filter_.modules.end()) {
      return level <= found->second;
    }
  }
  return level <= filter_.level;
}

void Log::error(const Error& error) const {
  if (is_on(LogLevel::kError)) {
    write(error.what, error.hint);
  }
}

void Log::warn(std::string_view message, std::string_view hint) const {
  if (is_on(LogLevel::kWarn)) {
    write(concat("warning: ", message), hint);
  }
}

void Log::info(std::string_view message) const {
  if (is_on(LogLevel::kInfo)) {
    write(message, {});
  }
}

void Log::debug(std::string_view module, std::string_view message) const {
  if (is_on(LogLevel::kDebug, module)) {
    write(concat(module, ": ", message), {});
  }
}

void Log::write(std::string_view message, std::string_view hint) const {
  std::string line = "distinit: ";
  if (!who_.empty()) {
    line += who_;
    line += ": ";
  }
  line += message;
  line += '\n';
  if (!hint.empty()) {
    line += concat("distinit: hint: ", hint, '\n');
  }
  static_cast<void>(write_all(fd_, line).has_value());
}

}  // namespace distinit
