// SPDX-License-Identifier: Apache-2.0
#include "lib/base/wire.h"

#include <criterion/criterion.h>

using namespace distinit;

Test(wire, integers_are_little_endian) {
  WireWriter writer;
  writer.put_u8(1);
  writer.put_u32(0x01020304);
  writer.put_u64(0x0102030405060708);
  cr_assert_eq(writer.take(),
               std::string("\x01\x04\x03\x02\x01\x08\x07\x06\x05\x04\x03\x02\x01", 13));
}

Test(wire, everything_comes_back) {
  WireWriter writer;
  writer.put_text("");
  writer.put_texts({"a", std::string("\0b", 2)});
  writer.put_numbers({-1, 0, 7});
  const std::string bytes = writer.take();
  WireReader reader(bytes);
  cr_assert_eq(reader.get_text(), "");
  cr_assert(reader.get_texts() == (std::vector<std::string>{"a", std::string("\0b", 2)}));
  cr_assert(reader.get_numbers() == (std::vector<int>{-1, 0, 7}));
  cr_assert(reader.at_end());
}

Test(wire, reading_past_the_end_gives_nothing_and_is_remembered) {
  WireReader reader("\x05");
  cr_assert_eq(reader.get_u32(), 0u);
  cr_assert_not(reader.ok());
  cr_assert_eq(reader.get_u8(), 0);
  cr_assert_not(reader.at_end());
}

Test(wire, announced_counts_allocate_nothing) {
  WireReader texts(std::string_view("\xff\xff\xff\xff", 4));
  cr_assert(texts.get_texts().size() <= 1);
  cr_assert_not(texts.ok());
  WireReader text(
      std::string_view("\xff\xff\xff\xff"
                       "abc",
                       7));
  cr_assert_eq(text.get_text(), "");
  cr_assert_not(text.ok());
}
