// SPDX-License-Identifier: Apache-2.0
#pragma once
// Levels by audience: error (the job will fail), warn (the result may differ from what was asked),
// info (one line a node or job that says what was decided), debug (for us, by module). Silent on
// success by default.

#include "lib/base/deadline.h"
#include "lib/base/result.h"

#include <map>
#include <string>
#include <string_view>

namespace distinit {

enum class LogLevel { kNone, kError, kWarn, kInfo, kDebug };

/// What DISTINIT_LOG asks for: a level for everything, and levels for single modules.
struct LogFilter {
  LogLevel level = LogLevel::kWarn;
  std::map<std::string, LogLevel, std::less<>> modules;

  bool operator==(const LogFilter&) const = default;
};

/// Reads "warn,store:debug,topo:info". The error names the word and the nearest right one. Empty:
/// the default.
Result<LogFilter> parse_log_filter(std::string_view text);

/// Writes lines "distinit: [WHO:] message" to a descriptor in one write(2) each, so that lines of
/// several processes on one terminal do not mix. Copies share nothing; a failing write is dropped.
class Log {
 public:
  Log() = default;
  Log(int fd, LogFilter filter) : fd_(fd), filter_(std::move(filter)) {}

  /// Who speaks: "rank 3 on n2", "n2", or empty.
  void set_who(std::string who) { who_ = std::move(who); }
  /// Nothing is written for this long: the process is being ended, and says nothing about it.
  void mute(milliseconds duration) { muted_until_ = Deadline(duration); }
  bool is_on(LogLevel level, std::string_view module = {}) const;

  /// The error and its hint line.
  void error(const Error& error) const;
  /// A warning and, where not empty, its hint line.
  void warn(std::string_view message, std::string_view hint = {}) const;
  void info(std::string_view message) const;
  void debug(std::string_view module, std::string_view message) const;

 private:
  void write(std::string_view message, std::string_view hint) const;

  int fd_ = 2;
  LogFilter filter_;
  std::string who_;
  Deadline muted_until_{milliseconds(0)};
};

}  // namespace distinit
