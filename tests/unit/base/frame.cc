// SPDX-License-Identifier: Apache-2.0
#include "lib/base/frame.h"

#include <criterion/criterion.h>

using namespace distinit;

Test(frame, messages_come_whole_however_they_are_split) {
  const std::string bytes = make_frame("one") + make_frame("") + make_frame(std::string(1000, 'x'));
  for (size_t step = 1; step < 40; ++step) {
    FrameReader reader;
    std::vector<std::string> got;
    for (size_t at = 0; at < bytes.size(); at += step) {
      reader.append(std::string_view(bytes).substr(at, step));
      while (auto message = reader.next().value()) {
        got.push_back(*message);
      }
    }
    cr_assert(got == (std::vector<std::string>{"one", "", std::string(1000, 'x')}));
    cr_assert_eq(reader.pending(), 0u);
  }
}

Test(frame, too_long_a_message_is_refused_by_its_length_alone) {
  FrameReader reader;
  reader.append(std::string_view("\x01\x00\x00\x04", 4));
  const auto message = reader.next();
  cr_assert_not(message.has_value());
  cr_assert_eq(message.error().what, "a message announces 67108865 bytes");
}
