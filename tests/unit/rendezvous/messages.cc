// SPDX-License-Identifier: Apache-2.0
#include "lib/rendezvous/messages.h"

#include "lib/base/frame.h"

#include <criterion/criterion.h>

using namespace distinit;

namespace {

/// The content of the one frame in `bytes`.
std::string content(const std::string& bytes) {
  FrameReader reader;
  reader.append(bytes);
  auto message = reader.next();
  cr_assert(message.has_value() && message->has_value());
  cr_assert_eq(reader.pending(), 0u);
  return **message;
}

/// Every shorter message, and one with a byte more, must be refused.
template <typename Decode>
void expect_exact(const std::string& message, Decode decode) {
  for (size_t length = 0; length < message.size(); ++length) {
    cr_assert_not(decode(message.substr(0, length)), "length %zu", length);
  }
  cr_assert_not(decode(message + "x"));
}

}  // namespace

Test(messages, join_survives_the_wire) {
  const Join join{"n2", 1, {2, 3, 9}, "fd00::1", "tp2,dp2", "0.1.0"};
  const std::string message = content(encode(join));
  cr_assert_eq(message[0], static_cast<char>(AgentMessage::kJoin));
  cr_assert(decode_join(message).value() == join);
  expect_exact(message, [](const std::string& m) { return decode_join(m).has_value(); });
}

Test(messages, release_survives_the_wire) {
  const Release release{"10.0.0.7", 23001, "10.0.0.7", 23002};
  const std::string message = content(encode(release));
  cr_assert(decode_release(message).value() == release);
  expect_exact(message, [](const std::string& m) { return decode_release(m).has_value(); });
}

Test(messages, vouching_survives_the_wire) {
  const VouchQuestion question{7, "10.0.0.8", 40000, "10.0.0.7", 23001};
  cr_assert(decode_vouch_question(content(encode(question))).value() == question);
  const VouchAnswer answer{7, false, "it belongs to uid 0 on n2"};
  cr_assert(decode_vouch_answer(content(encode(answer))).value() == answer);
  const VouchAnswer yes{8, true, ""};
  cr_assert(decode_vouch_answer(content(encode(yes))).value() == yes);
}

Test(messages, errors_survive_the_wire) {
  const Error error{ErrorCode::kLayout, "rank 3 on n2: what", "do this", 13};
  const std::string message = content(encode(AgentMessage::kFailed, error));
  cr_assert(decode_error(message).value() == error);
  expect_exact(message, [](const std::string& m) { return decode_error(m).has_value(); });
}

Test(messages, error_of_an_unknown_code_counts_as_internal) {
  std::string message = content(encode(AgentMessage::kFailed, Error{}));
  message[1] = 99;
  cr_assert_eq(decode_error(message)->code, ErrorCode::kInternal);
}

Test(messages, ranks_numbers_and_texts_survive_the_wire) {
  cr_assert(decode_ranks(content(encode(AgentMessage::kPresent, std::vector<int>{4, 7}))).value() ==
            (std::vector<int>{4, 7}));
  cr_assert_eq(decode_count(content(encode(AgentMessage::kAbort, uint32_t{4}))).value(), 4u);
  cr_assert_eq(
      decode_text(content(encode(AgentMessage::kProbe, std::string_view("fd00::1")))).value(),
      "fd00::1");
  cr_assert_eq(content(encode(AgentMessage::kDone)).size(), 1u);
}

Test(messages, count_of_ranks_allocates_nothing_by_itself) {
  // 2^32-1 ranks announced, none there.
  const std::string message("\x02\xff\xff\xff\xff", 5);
  cr_assert_not(decode_ranks(message).has_value());
}

Test(messages, node_reports_survive_the_wire) {
  const NodeReport report{"n2", "mlx5_0:1", {{"what", "hint"}, {"other", ""}}, true};
  const std::string message = content(encode(report));
  cr_assert(decode_node_report(message).value() == report);
  expect_exact(message, [](const std::string& m) { return decode_node_report(m).has_value(); });
}
