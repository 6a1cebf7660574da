// SPDX-License-Identifier: Apache-2.0
#include "lib/store/dialect.h"

#include "tests/unit/store/bytes.h"

#include <criterion/criterion.h>

using namespace distinit;

namespace {

const std::string kPreamble = bytes("d1 000102030405060708090a0b0c0d0e");

// The judgement of each prefix must be kNeedMore until the whole says something else.
void expect_opening(std::string_view hex, size_t certain_at, Opening wanted) {
  const std::string all = bytes(hex);
  for (size_t n = 0; n < certain_at; ++n) {
    cr_assert(read_opening(all.substr(0, n), kPreamble) == Opening::kNeedMore, "%zu of %s", n,
              std::string(hex).c_str());
  }
  for (size_t n = certain_at; n <= all.size(); ++n) {
    cr_assert(read_opening(all.substr(0, n), kPreamble) == wanted, "%zu of %s", n,
              std::string(hex).c_str());
  }
}

}  // namespace

Test(dialect, knows_d3_by_its_handshake) {
  expect_opening("00cef7853c 0d da4a0000", 5, Opening::kD3);
}

Test(dialect, knows_d0_by_its_first_add) {
  expect_opening("02 0500000000000000 696e69742f 0100000000000000", 14, Opening::kD0);
}

Test(dialect, knows_the_common_start_of_d1_and_d2) {
  expect_opening("03 0500000000000000 696e69742f 0100000000000000", 1, Opening::kD1OrD2);
  expect_opening("05 0100000000000000", 1, Opening::kD1OrD2);
  expect_opening("07 0100000000000000", 1, Opening::kD1OrD2);
  expect_opening("0b", 1, Opening::kD1OrD2);
  // GET before anything else: no client does it, and D0 would say ADD init/.
  expect_opening("02 0200000000000000 2f6b", 2, Opening::kD1OrD2);
}

Test(dialect, takes_a_small_set_for_an_old_dialect) {
  expect_opening("00 0200000000000000 2f6b", 2, Opening::kD1OrD2);
  // A key of 0xce bytes begins like the handshake.
  expect_opening("00 ce00000000000000", 3, Opening::kD1OrD2);
}

Test(dialect, refuses_probes) {
  expect_opening("474554202f20485454502f312e31", 1, Opening::kGarbage);  // GET / HTTP/1.1
  expect_opening("16030100", 1, Opening::kGarbage);                      // TLS
  expect_opening("0c", 1, Opening::kGarbage);
  expect_opening("ff", 1, Opening::kGarbage);
  expect_opening("00cef7853d", 5, Opening::kGarbage);  // a wrong handshake
  expect_opening("00cef700", 4, Opening::kGarbage);
  expect_opening("d100ff", 3, Opening::kGarbage);  // not quite the other protocol
}

Test(dialect, recognises_the_other_protocol_only_where_there_is_one) {
  expect_opening("d1 000102030405060708090a0b0c0d0e ffff", 16, Opening::kForeign);
  cr_assert(read_opening(kPreamble, "") == Opening::kGarbage);
}

Test(dialect, has_the_numbers_of_each_release) {
  struct Row {
    Operation operation;
    int d0, d1, d2, d3;  // -1: does not exist
  };
  const Row table[] = {
      {Operation::kSet, 0, 0, 0, 1},
      {Operation::kCompareSet, -1, 1, 1, 2},
      {Operation::kGet, 1, 2, 2, 3},
      {Operation::kAdd, 2, 3, 3, 4},
      {Operation::kCheck, 3, 4, 4, 5},
      {Operation::kWait, 4, 5, 5, 6},
      {Operation::kCountKeys, 5, 6, 6, 7},
      {Operation::kWatch, -1, 7, -1, -1},
      {Operation::kDelete, 6, 8, 7, 8},
      {Operation::kAppend, -1, -1, 8, 9},
      {Operation::kMultiGet, -1, -1, 9, 10},
      {Operation::kMultiSet, -1, -1, 10, 11},
      {Operation::kCancelWait, -1, -1, 11, 12},
      {Operation::kValidate, -1, -1, -1, 0},
      {Operation::kPing, -1, -1, -1, 13},
      {Operation::kQueuePush, -1, -1, -1, 14},
      {Operation::kQueuePop, -1, -1, -1, 15},
      {Operation::kQueueLength, -1, -1, -1, 16},
      {Operation::kListKeys, -1, -1, -1, 17},
      {Operation::kBarrier, -1, -1, -1, 18},
  };
  for (const Row& row : table) {
    const auto expect = [&row](Dialect dialect, int number) {
      const auto command = command_for(dialect, row.operation);
      cr_assert(command.value_or(255) == (number < 0 ? 255 : number));
      if (command) {
        cr_assert(operation_for(dialect, *command) == row.operation);
      }
    };
    expect(Dialect::kD0, row.d0);
    expect(Dialect::kD1, row.d1);
    expect(Dialect::kD2, row.d2);
    expect(Dialect::kD3, row.d3);
  }
  cr_assert(!operation_for(Dialect::kD0, 7));
  cr_assert(!operation_for(Dialect::kD1, 9));
  cr_assert(!operation_for(Dialect::kD2, 12));
  cr_assert(!operation_for(Dialect::kD3, 19));
}

Test(dialect, settles_d1_or_d2_at_the_first_command_that_differs) {
  for (uint8_t command = 0; command < 7; ++command) {
    cr_assert(!settle_by_command(command, true) && !settle_by_command(command, false));
    cr_assert(operation_for(Dialect::kD1OrD2, command) == operation_for(Dialect::kD1, command));
  }
  for (uint8_t command = 7; command <= 8; ++command) {
    cr_assert(!operation_for(Dialect::kD1OrD2, command));
    cr_assert(settle_by_command(command, true) == Dialect::kD1);
    cr_assert(settle_by_command(command, false) == Dialect::kD2);
  }
  for (uint8_t command = 9; command <= 11; ++command) {
    cr_assert(settle_by_command(command, true) == Dialect::kD2);
  }
  cr_assert(!settle_by_command(12, true));
}
