// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stands in for Criterion under the thread sanitizer: Criterion 2.4 maps its arena where the
// sanitizer allows no memory and ends before the first test. Each test runs in a process of its
// own, one after another; the last line is Criterion's summary. Only what our tests use is here.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace criterion_stand_in {

constexpr int kFailed = 1;
constexpr int kSkipped = 77;

struct Options {
  unsigned timeout = 60;  ///< seconds
};

struct Test {
  const char* suite;
  const char* name;
  void (*body)();
  Options options;
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

struct Registration {
  explicit Registration(const Test& test) { tests().push_back(test); }
};

/// Set by an expectation that does not hold; the test goes on.
inline bool& has_failed() {
  static bool failed = false;
  return failed;
}

template <typename... Arguments>
void report(const char* file, int line, const char* what, Arguments... message) {
  fprintf(stderr, "%s:%d: %s: ", file, line, what);
  if constexpr (sizeof...(message) > 0) {
    fprintf(stderr, message...);
  }
  fputc('\n', stderr);
}

/// Ends the test's process without running destructors, as a failing assertion has it.
template <typename... Arguments>
[[noreturn]] void end_test(int status, const char* file, int line, const char* what,
                           Arguments... message) {
  report(file, line, what, message...);
  _exit(status);
}

template <typename... Arguments>
void fail_later(const char* file, int line, const char* what, Arguments... message) {
  report(file, line, what, message...);
  has_failed() = true;
}

inline bool passes(const Test& test) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(test.options.timeout);
    test.body();
    // The sanitizer makes it its own status where it has found something.
    exit(has_failed() ? kFailed : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const bool passed =
      WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kSkipped);
  if (!passed) {
    printf("[FAIL] %s::%s (wait status %#x)\n", test.suite, test.name, status);
  }
  return passed;
}

inline int run_all() {
  size_t passing = 0;
  for (const Test& test : tests()) {
    passing += passes(test) ? 1 : 0;
  }
  const size_t failing = tests().size() - passing;
  printf("[====] Synthesis: Tested: %zu | Passing: %zu | Failing: %zu | Crashing: 0\n",
         tests().size(), passing, failing);
  return failing == 0 ? 0 : 1;
}

}  // namespace criterion_stand_in

// Weak, because every test file includes it.
__attribute__((weak)) int main() {
  return criterion_stand_in::run_all();
}

#define Test(suite, name, ...)                                                           \
  static void suite##_##name##_impl();                                                   \
  static const criterion_stand_in::Registration suite##_##name##_registration(           \
      {#suite, #name, suite##_##name##_impl, criterion_stand_in::Options{__VA_ARGS__}}); \
  static void suite##_##name##_impl()

#define cr_assert(condition, ...)                                                              \
  ((condition) ? static_cast<void>(0)                                                          \
               : criterion_stand_in::end_test(criterion_stand_in::kFailed, __FILE__, __LINE__, \
                                              #condition " is false" __VA_OPT__(, ) __VA_ARGS__))
#define cr_expect(condition, ...)                \
  ((condition) ? static_cast<void>(0)            \
               : criterion_stand_in::fail_later( \
                     __FILE__, __LINE__, #condition " is false" __VA_OPT__(, ) __VA_ARGS__))
#define cr_assert_not(condition, ...) cr_assert(!(condition)__VA_OPT__(, ) __VA_ARGS__)
#define cr_assert_null(pointer, ...) cr_assert((pointer) == nullptr __VA_OPT__(, ) __VA_ARGS__)
#define cr_assert_eq(a, b, ...) cr_assert((a) == (b)__VA_OPT__(, ) __VA_ARGS__)
#define cr_assert_neq(a, b, ...) cr_assert((a) != (b)__VA_OPT__(, ) __VA_ARGS__)
#define cr_assert_lt(a, b, ...) cr_assert((a) < (b)__VA_OPT__(, ) __VA_ARGS__)
#define cr_assert_leq(a, b, ...) cr_assert((a) <= (b)__VA_OPT__(, ) __VA_ARGS__)
#define cr_expect_not(condition, ...) cr_expect(!(condition)__VA_OPT__(, ) __VA_ARGS__)
#define cr_expect_eq(a, b, ...) cr_expect((a) == (b)__VA_OPT__(, ) __VA_ARGS__)
#define cr_expect_lt(a, b, ...) cr_expect((a) < (b)__VA_OPT__(, ) __VA_ARGS__)
#define cr_expect_gt(a, b, ...) cr_expect((a) > (b)__VA_OPT__(, ) __VA_ARGS__)
#define cr_expect_geq(a, b, ...) cr_expect((a) >= (b)__VA_OPT__(, ) __VA_ARGS__)
#define cr_assert_geq(a, b, ...) cr_assert((a) >= (b)__VA_OPT__(, ) __VA_ARGS__)
#define cr_skip_test(...) cr_skip(__VA_ARGS__)
#define cr_skip(...)                                                             \
  criterion_stand_in::end_test(criterion_stand_in::kSkipped, __FILE__, __LINE__, \
                               "skipped" __VA_OPT__(, ) __VA_ARGS__)
