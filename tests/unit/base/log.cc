// SPDX-License-Identifier: Apache-2.0
#include "lib/base/log.h"

#include "lib/base/fd.h"

#include <criterion/criterion.h>

using namespace distinit;

namespace {

/// What `speak` writes.
template <typename Speak>
std::string written(LogFilter filter, Speak speak) {
  Pipe pipe = make_pipe().value();
  Log log(pipe.write.get(), std::move(filter));
  speak(log);
  pipe.write.reset();
  return read_all(pipe.read.get(), 65536).value();
}

}  // namespace

Test(log, filter_has_a_level_and_modules) {
  const LogFilter filter = parse_log_filter("info,store:debug,topo:none").value();
  cr_assert_eq(filter.level, LogLevel::kInfo);
  cr_assert_eq(filter.modules.at("store"), LogLevel::kDebug);
  cr_assert_eq(filter.modules.at("topo"), LogLevel::kNone);
  cr_assert(parse_log_filter("").value() == LogFilter{});
}

Test(log, misspelt_level_is_named_with_the_nearest) {
  const auto filter = parse_log_filter("inof");
  cr_assert_eq(filter.error().code, ErrorCode::kUsage);
  cr_assert_eq(filter.error().what, "DISTINIT_LOG: unknown level 'inof'");
  cr_assert_eq(filter.error().hint, "did you mean 'info'?");
  cr_assert_not(parse_log_filter("store:loud").has_value());
}

Test(log, lines_say_who_and_hints_follow) {
  const std::string text = written(LogFilter{}, [](Log& log) {
    log.set_who("rank 3 on n2");
    log.error(Error{ErrorCode::kSpec, "what failed", "do this", 0});
    log.warn("odd");
    log.info("silent by default");
  });
  cr_assert_eq(text,
               "distinit: rank 3 on n2: what failed\ndistinit: hint: do this\n"
               "distinit: rank 3 on n2: warning: odd\n");
}

Test(log, debug_is_by_module) {
  const std::string text = written(parse_log_filter("none,store:debug").value(), [](Log& log) {
    log.debug("store", "one");
    log.debug("topo", "two");
    log.error(Error{ErrorCode::kSpec, "three", "", 0});
  });
  cr_assert_eq(text, "distinit: store: one\n");
}

Test(log, muted_log_says_nothing) {
  const std::string text = written(LogFilter{}, [](Log& log) {
    log.mute(milliseconds(60'000));
    log.error(Error{ErrorCode::kSpec, "never", "", 0});
  });
  cr_assert_eq(text, "");
}
