// SPDX-License-Identifier: Apache-2.0
#pragma once
// A value or an Error. C++20 has no std::expected, and an exception must not cross a room.

#include "lib/base/check.h"
#include "lib/base/error.h"

#include <utility>
#include <variant>

namespace distinit {

/// Holds a T or an Error. Reading the side that is not there is a broken invariant and aborts.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & {
    DISTINIT_CHECK(has_value());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    DISTINIT_CHECK(has_value());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    DISTINIT_CHECK(has_value());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    DISTINIT_CHECK(!has_value());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    DISTINIT_CHECK(!has_value());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

struct Ok {
  bool operator==(const Ok&) const = default;
};

/// Success without a value, or an Error.
using Status = Result<Ok>;

}  // namespace distinit

#define DISTINIT_CONCAT_INNER(a, b) a##b
#define DISTINIT_CONCAT(a, b) DISTINIT_CONCAT_INNER(a, b)

/// The only macros that return: hand the Error of `expr` to the caller, or bind its value to
/// `declaration`.
#define DISTINIT_ASSIGN_OR_RETURN(declaration, expr)                                   \
  auto DISTINIT_CONCAT(result_, __LINE__) = (expr);                                    \
  if (!DISTINIT_CONCAT(result_, __LINE__)) {                                           \
    return std::move(DISTINIT_CONCAT(result_, __LINE__)).error();                      \
  }                                                                                    \
  /* A declaration takes no parentheses. NOLINTNEXTLINE(bugprone-macro-parentheses) */ \
  declaration = std::move(DISTINIT_CONCAT(result_, __LINE__)).value()

#define DISTINIT_RETURN_IF_ERROR(expr)     \
  do {                                     \
    if (auto status_ = (expr); !status_) { \
      return std::move(status_).error();   \
    }                                      \
  } while (false)
