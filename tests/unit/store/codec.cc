// SPDX-License-Identifier: Apache-2.0
#include "lib/store/codec.h"

#include "tests/unit/store/bytes.h"

#include <vector>

#include <criterion/criterion.h>

using namespace distinit;

namespace {

// All requests in the pieces, in order; fails the test on an Error.
std::vector<Request> decode(Dialect dialect, const std::vector<std::string>& pieces) {
  RequestDecoder decoder(dialect);
  std::vector<Request> out;
  for (const std::string& piece : pieces) {
    decoder.append(piece);
    while (true) {
      auto request = decoder.next();
      cr_assert(request.has_value(), "%s", request ? "" : request.error().what.c_str());
      if (!*request) {
        break;
      }
      out.push_back(std::move(**request));
    }
  }
  cr_assert(decoder.pending() == 0);
  return out;
}

// True when the bytes are refused, however they are split in two, and not before the end.
bool is_refused(Dialect dialect, const std::string& all) {
  for (size_t cut = 0; cut < all.size(); ++cut) {
    RequestDecoder decoder(dialect);
    decoder.append(std::string_view(all).substr(0, cut));
    while (true) {
      auto request = decoder.next();
      if (!request) {
        return false;  // too early
      }
      if (!*request) {
        break;
      }
    }
    decoder.append(std::string_view(all).substr(cut));
    auto request = decoder.next();
    while (request && *request) {
      request = decoder.next();
    }
    if (request || decoder.next()) {
      return false;
    }
  }
  return true;
}

const std::string kHandshake = "00cef7853c";

struct Line {
  std::string hex;
  Request request;
};

// What PyTorch 2.6 and 2.14 send, captured.
const std::vector<Line>& transcript_d3() {
  static const std::vector<Line> lines = {
      {"00 cef7853c", {Operation::kValidate, {}, {}, kValidateMagic}},
      {"0d da4a0000", {Operation::kPing, {}, {}, 0x4ada}},
      {"04 0500000000000000 696e69742f 0100000000000000", {Operation::kAdd, {"init/"}, {}, 1}},
      {"01 0200000000000000 2f6b 0100000000000000 76", {Operation::kSet, {"/k"}, {"v"}, 0}},
      {"06 0100000000000000 0200000000000000 2f6b", {Operation::kWait, {"/k"}, {}, 0}},
      {"03 0200000000000000 2f6b", {Operation::kGet, {"/k"}, {}, 0}},
      {"04 0200000000000000 2f6e f9ffffffffffffff", {Operation::kAdd, {"/n"}, {}, -7}},
      {"05 0200000000000000 0200000000000000 2f6b 0300000000000000 2f7a7a",
       {Operation::kCheck, {"/k", "/zz"}, {}, 0}},
      {"02 0400000000000000 2f636173 0000000000000000 0100000000000000 78",
       {Operation::kCompareSet, {"/cas"}, {"", "x"}, 0}},
      {"08 0200000000000000 2f6b", {Operation::kDelete, {"/k"}, {}, 0}},
      {"0b 0200000000000000 0300000000000000 2f6d31 0100000000000000 31 0300000000000000 2f6d32 "
       "0200000000000000 3232",
       {Operation::kMultiSet, {"/m1", "/m2"}, {"1", "22"}, 0}},
      {"0a 0200000000000000 0300000000000000 2f6d31 0300000000000000 2f6d32",
       {Operation::kMultiGet, {"/m1", "/m2"}, {}, 0}},
      {"06 0200000000000000 0500000000000000 2f6e6f7065 0600000000000000 2f6e6f706532",
       {Operation::kWait, {"/nope", "/nope2"}, {}, 0}},
      {"0c", {Operation::kCancelWait, {}, {}, 0}},
      {"11", {Operation::kListKeys, {}, {}, 0}},
      {"12 0400000000000000 2f626172 0100000000000000", {Operation::kBarrier, {"/bar"}, {}, 1}},
      {"09 0200000000000000 2f6b 0000000000000000", {Operation::kAppend, {"/k"}, {""}, 0}},
      {"0e 0200000000000000 2f71 0100000000000000 61", {Operation::kQueuePush, {"/q"}, {"a"}, 0}},
      {"0f 0200000000000000 2f71", {Operation::kQueuePop, {"/q"}, {}, 0}},
      {"10 0200000000000000 2f71", {Operation::kQueueLength, {"/q"}, {}, 0}},
      {"07", {Operation::kCountKeys, {}, {}, 0}},
      {"06 0000000000000000", {Operation::kWait, {}, {}, 0}},
  };
  return lines;
}

std::string u64(uint64_t value) {
  std::string out;
  put_u64(out, value);
  return out;
}

}  // namespace

Test(codec, reads_the_captured_requests_of_d3) {
  std::string all;
  std::vector<Request> wanted;
  for (const Line& line : transcript_d3()) {
    all += bytes(line.hex);
    wanted.push_back(line.request);
  }
  cr_assert(decode(Dialect::kD3, {all}) == wanted);
}

Test(codec, reads_the_same_split_at_every_byte) {
  std::string all;
  std::vector<Request> wanted;
  for (const Line& line : transcript_d3()) {
    all += bytes(line.hex);
    wanted.push_back(line.request);
  }
  for (size_t cut = 0; cut <= all.size(); ++cut) {
    cr_assert(decode(Dialect::kD3, {all.substr(0, cut), all.substr(cut)}) == wanted, "%zu", cut);
  }
  std::vector<std::string> single;
  for (const char c : all) {
    single.emplace_back(1, c);
  }
  cr_assert(decode(Dialect::kD3, single) == wanted);
}

Test(codec, writes_the_captured_requests) {
  for (const Line& line : transcript_d3()) {
    cr_assert(encode_request(Dialect::kD3, line.request) == bytes(line.hex), "%s",
              line.hex.c_str());
  }
  cr_assert(!encode_request(Dialect::kD0, {Operation::kAppend, {"/k"}, {"v"}, 0}));
}

Test(codec, reads_the_old_dialects) {
  const std::string init = "0500000000000000 696e69742f 0100000000000000";
  const Request add{Operation::kAdd, {"init/"}, {}, 1};
  const Request get{Operation::kGet, {"/k"}, {}, 0};
  const std::string key = "0200000000000000 2f6b";
  cr_assert(decode(Dialect::kD0, {bytes("02" + init), bytes("01" + key)}) ==
            std::vector<Request>({add, get}));
  cr_assert(decode(Dialect::kD1, {bytes("03" + init), bytes("02" + key)}) ==
            std::vector<Request>({add, get}));
  cr_assert(decode(Dialect::kD1, {bytes("07" + key + "08" + key)}) ==
            std::vector<Request>(
                {{Operation::kWatch, {"/k"}, {}, 0}, {Operation::kDelete, {"/k"}, {}, 0}}));
  cr_assert(decode(Dialect::kD2, {bytes("07" + key + "08" + key + "0100000000000000 76 0b")}) ==
            std::vector<Request>({{Operation::kDelete, {"/k"}, {}, 0},
                                  {Operation::kAppend, {"/k"}, {"v"}, 0},
                                  {Operation::kCancelWait, {}, {}, 0}}));
  cr_assert(decode(Dialect::kD0, {bytes("06" + key + "05")}) ==
            std::vector<Request>(
                {{Operation::kDelete, {"/k"}, {}, 0}, {Operation::kCountKeys, {}, {}, 0}}));
}

Test(codec, can_change_between_requests_from_undecided_to_one_dialect) {
  RequestDecoder decoder(Dialect::kD1OrD2);
  decoder.append(bytes("06 07 0200000000000000 2f6b"));
  cr_assert(decoder.next_command() == 6);
  cr_assert(decoder.next()->value().operation == Operation::kCountKeys);
  cr_assert(decoder.next_command() == 7);
  decoder.set_dialect(Dialect::kD2);
  cr_assert(decoder.next()->value().operation == Operation::kDelete);
  cr_assert(!decoder.next_command());
}

Test(codec, accepts_lengths_up_to_the_limits) {
  const std::string key(kLongestKey, 'k');
  const std::string value(kLongestValue, 'v');
  const Request set{Operation::kSet, {key}, {value}, 0};
  const std::string all = bytes(kHandshake) + *encode_request(Dialect::kD3, set);
  const auto requests = decode(Dialect::kD3, {all.substr(0, 9000), all.substr(9000)});
  cr_assert(requests.size() == 2 && requests[1] == set);

  const Request check{Operation::kCheck, std::vector<std::string>(kMostKeys, "x"), {}, 0};
  const auto many =
      decode(Dialect::kD3, {bytes(kHandshake) + *encode_request(Dialect::kD3, check)});
  cr_assert(many.size() == 2 && many[1] == check);
}

Test(codec, refuses_lengths_over_the_limits_as_soon_as_they_are_read) {
  const std::string head = bytes(kHandshake);
  for (const uint64_t length :
       {kLongestKey + 1, uint64_t{1} << 33, uint64_t{1} << 62, ~uint64_t{0}}) {
    cr_assert(is_refused(Dialect::kD3, head + "\x03" + u64(length)));
    cr_assert(is_refused(Dialect::kD3, head + "\x06" + u64(1) + u64(length)));
    cr_assert(is_refused(Dialect::kD1, std::string(1, '\0') + u64(length)));
  }
  for (const uint64_t length : {kLongestValue + 1, uint64_t{1} << 33, uint64_t{1} << 62}) {
    cr_assert(is_refused(Dialect::kD3, head + "\x01" + u64(2) + "/k" + u64(length)));
    cr_assert(is_refused(Dialect::kD3, head + "\x0b" + u64(1) + u64(2) + "/k" + u64(length)));
  }
  for (const uint64_t count : {kMostKeys + 1, uint64_t{1} << 62}) {
    cr_assert(is_refused(Dialect::kD3, head + "\x06" + u64(count)));
    cr_assert(is_refused(Dialect::kD3, head + "\x0b" + u64(count)));
  }
}

Test(codec, refuses_commands_that_the_dialect_lacks) {
  cr_assert(is_refused(Dialect::kD3, bytes(kHandshake + "13")));
  cr_assert(is_refused(Dialect::kD3, bytes(kHandshake + "ff")));
  cr_assert(is_refused(Dialect::kD0, bytes("07")));
  cr_assert(is_refused(Dialect::kD1, bytes("09")));
  cr_assert(is_refused(Dialect::kD2, bytes("0c")));
}

Test(codec, wants_one_right_handshake_first) {
  cr_assert(is_refused(Dialect::kD3, bytes("00 cef7853d")));
  cr_assert(is_refused(Dialect::kD3, bytes(kHandshake + "00")));
  cr_assert(is_refused(Dialect::kD3, bytes("07")));
}

Test(codec, reads_numbers_as_they_are) {
  const auto requests = decode(Dialect::kD1, {bytes("03 0000000000000000 0000000000000080"),
                                              bytes("03 0100000000000000 00 ffffffffffffff7f")});
  cr_assert(requests.size() == 2);
  cr_assert(requests[0] == (Request{Operation::kAdd, {""}, {}, INT64_MIN}));
  cr_assert(requests[1] == (Request{Operation::kAdd, {std::string(1, '\0')}, {}, INT64_MAX}));
}
