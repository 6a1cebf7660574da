// SPDX-License-Identifier: Apache-2.0
#include "lib/store/service.h"

#include "tests/unit/store/bytes.h"

#include <algorithm>
#include <random>
#include <utility>

#include <criterion/criterion.h>

using namespace distinit;

namespace {

// One connection without a socket: bytes in, bytes out. False once it would be closed.
class Session {
 public:
  Session(KeyValue& data, Waiter waiter, Dialect dialect)
      : data_(data), waiter_(waiter), decoder_(dialect) {}

  bool receive(std::string_view input) {
    decoder_.append(input);
    while (true) {
      auto request = decoder_.next();
      if (!request) {
        return false;
      }
      if (!*request) {
        return true;
      }
      if (!serve(data_, waiter_, std::move(**request), output)) {
        return false;
      }
    }
  }

  std::string output;

 private:
  KeyValue& data_;
  Waiter waiter_;
  RequestDecoder decoder_;
};

// Two connections to the same data.
struct Pair {
  explicit Pair(Dialect dialect) : first(data, 1, dialect), second(data, 2, dialect) {
    if (dialect == Dialect::kD3) {
      cr_assert(first.receive(bytes("00cef7853c")) && second.receive(bytes("00cef7853c")));
    }
  }

  KeyValue data{
      [this](Waiter waiter) { put_u8((waiter == 1 ? first : second).output, kReplyReady); },
      [this](Waiter waiter, const Change& change) {
        (waiter == 1 ? first : second).output += encode_change(change);
      }};
  Session first;
  Session second;
};

void expect(Session& session, std::string_view request, std::string_view reply) {
  cr_assert(session.receive(bytes(request)), "closed at %s", std::string(request).c_str());
  const std::string got = std::exchange(session.output, {});
  cr_assert(got == bytes(reply), "%s: got %s", std::string(request).c_str(), to_hex(got).c_str());
}

}  // namespace

Test(service, answers_the_captured_session_of_d3) {
  Pair pair(Dialect::kD3);
  Session& s = pair.first;
  expect(s, "0d da4a0000", "da4a0000");
  expect(s, "04 0500000000000000 696e69742f 0100000000000000", "0100000000000000");
  expect(s, "01 0200000000000000 2f6b 0100000000000000 76", "");
  expect(s, "06 0100000000000000 0200000000000000 2f6b", "00");
  expect(s, "03 0200000000000000 2f6b", "0100000000000000 76");
  expect(s, "04 0200000000000000 2f6e 0500000000000000", "0500000000000000");
  expect(s, "04 0200000000000000 2f6e f9ffffffffffffff", "feffffffffffffff");
  expect(s, "03 0200000000000000 2f6e", "0200000000000000 2d32");
  expect(s, "05 0200000000000000 0200000000000000 2f6b 0300000000000000 2f7a7a", "01");
  expect(s, "05 0100000000000000 0200000000000000 2f6b", "00");
  expect(s, "02 0400000000000000 2f636173 0000000000000000 0100000000000000 78",
         "0100000000000000 78");
  expect(s, "08 0200000000000000 2f6b", "0100000000000000");
  expect(s, "08 0200000000000000 2f6b", "0000000000000000");
  expect(s,
         "0b 0200000000000000 0300000000000000 2f6d31 0100000000000000 31 0300000000000000 2f6d32 "
         "0200000000000000 3232",
         "");
  expect(s, "0a 0200000000000000 0300000000000000 2f6d31 0300000000000000 2f6d32",
         "0100000000000000 31 0200000000000000 3232");
  expect(s, "06 0200000000000000 0500000000000000 2f6e6f7065 0600000000000000 2f6e6f706532", "");
  expect(s, "0c", "01");
  expect(s, "07", "0500000000000000");
  expect(s, "12 0400000000000000 2f626172 0100000000000000", "00");
}

Test(service, answers_a_missing_get_with_nothing) {
  Pair pair(Dialect::kD3);
  expect(pair.first, "03 0200000000000000 2f6b", "0000000000000000");
  expect(pair.first, "01 0100000000000000 61 0100000000000000 31", "");
  expect(pair.first, "0a 0200000000000000 0100000000000000 62 0100000000000000 61",
         "0000000000000000 0100000000000000 31");
}

Test(service, lists_every_key_with_init) {
  Pair pair(Dialect::kD3);
  expect(pair.first, "11", "0000000000000000");
  expect(pair.first, "04 0500000000000000 696e69742f 0100000000000000", "0100000000000000");
  expect(pair.first, "11", "0100000000000000 0500000000000000 696e69742f");
}

Test(service, closes_when_what_is_there_cannot_be_added_to) {
  Pair pair(Dialect::kD3);
  expect(pair.first, "01 0100000000000000 61 0100000000000000 78", "");
  cr_assert(!pair.first.receive(bytes("04 0100000000000000 61 0100000000000000")));
  cr_assert(!pair.second.receive(bytes("12 0100000000000000 61 0100000000000000")));
  cr_assert(*pair.data.find("a") == "x");
}

Test(service, wakes_and_then_answers_a_late_cancel_in_this_order) {
  Pair pair(Dialect::kD3);
  expect(pair.first, "06 0100000000000000 0100000000000000 61", "");
  expect(pair.second, "01 0100000000000000 61 0000000000000000", "");
  expect(pair.first, "0c", "00 01");
}

Test(service, cancels_a_barrier) {
  Pair pair(Dialect::kD3);
  expect(pair.first, "12 0100000000000000 62 0200000000000000", "");
  expect(pair.first, "0c", "01");
  expect(pair.second, "12 0100000000000000 62 0200000000000000", "00");
  cr_assert(pair.first.output.empty());
}

Test(service, drops_a_wait_that_the_client_gave_up_without_saying_so) {
  Pair pair(Dialect::kD1);
  expect(pair.first, "05 0100000000000000 0100000000000000 61", "");
  expect(pair.first, "06", "0000000000000000");
  expect(pair.second, "00 0100000000000000 61 0000000000000000", "");
  cr_assert(pair.first.output.empty(), "no stray byte");
}

Test(service, moves_values_through_a_queue) {
  Pair pair(Dialect::kD3);
  expect(pair.first, "0f 0100000000000000 71", "0000000000000000");
  expect(pair.first, "06 0100000000000000 0100000000000000 71", "");
  expect(pair.second, "0e 0100000000000000 71 0200000000000000 6869", "");
  cr_assert(std::exchange(pair.first.output, {}) == bytes("00"));
  expect(pair.first, "05 0100000000000000 0100000000000000 71", "00");
  expect(pair.first, "10 0100000000000000 71", "0100000000000000");
  expect(pair.first, "07", "0000000000000000");
  expect(pair.first, "0f 0100000000000000 71", "0100000000000000 0200000000000000 6869");
  expect(pair.first, "05 0100000000000000 0100000000000000 71", "01");
}

Test(service, answers_the_old_dialects) {
  Pair d1(Dialect::kD1);
  expect(d1.first, "03 0500000000000000 696e69742f 0100000000000000", "0100000000000000");
  expect(d1.first, "00 0100000000000000 61 0100000000000000 76", "");
  expect(d1.first, "05 0100000000000000 0100000000000000 61", "00");
  expect(d1.first, "02 0100000000000000 61", "0100000000000000 76");
  expect(d1.first, "01 0100000000000000 61 0100000000000000 76 0100000000000000 77",
         "0100000000000000 77");
  expect(d1.first, "04 0100000000000000 0100000000000000 61", "00");
  expect(d1.first, "06", "0200000000000000");
  expect(d1.first, "08 0100000000000000 61", "0100000000000000");

  Pair d0(Dialect::kD0);
  expect(d0.first, "02 0500000000000000 696e69742f 0100000000000000", "0100000000000000");
  expect(d0.first, "00 0100000000000000 61 0100000000000000 76", "");
  expect(d0.first, "04 0100000000000000 0100000000000000 61", "00");
  expect(d0.first, "01 0100000000000000 61", "0100000000000000 76");
  expect(d0.first, "03 0100000000000000 0100000000000000 62", "01");
  expect(d0.first, "05", "0200000000000000");
  expect(d0.first, "06 0100000000000000 61", "0100000000000000");

  Pair d2(Dialect::kD2);
  expect(d2.first, "0a 0100000000000000 0100000000000000 61 0100000000000000 76", "");
  expect(d2.first, "08 0100000000000000 61 0100000000000000 77", "");
  expect(d2.first, "09 0100000000000000 0100000000000000 61", "0200000000000000 7677");
  expect(d2.first, "07 0100000000000000 61", "0100000000000000");
  expect(d2.first, "05 0100000000000000 0100000000000000 61", "");
  expect(d2.first, "0b", "01");
}

Test(service, notifies_a_watcher_as_captured) {
  Pair pair(Dialect::kD1);
  expect(pair.first, "07 0300000000000000 2f776b", "03");
  expect(pair.second, "00 0300000000000000 2f776b 0100000000000000 31", "");
  cr_assert(std::exchange(pair.first.output, {}) ==
            bytes("01 0300000000000000 2f776b 0000000000000000 0100000000000000 31"));
  expect(pair.second, "08 0300000000000000 2f776b", "0100000000000000");
  cr_assert(pair.first.output ==
            bytes("02 0300000000000000 2f776b 0100000000000000 31 0000000000000000"));
}

Test(service, refuses_a_reply_of_gigabytes) {
  Pair pair(Dialect::kD3);
  pair.data.set("v", std::string(kLongestValue, 'v'));
  const Request few{Operation::kMultiGet, std::vector<std::string>(3, "v"), {}, 0};
  cr_assert(pair.first.receive(*encode_request(Dialect::kD3, few)));
  cr_assert(pair.first.output.size() == 3 * (8 + kLongestValue));
  const Request many{Operation::kMultiGet, std::vector<std::string>(200, "v"), {}, 0};
  cr_assert(!pair.first.receive(*encode_request(Dialect::kD3, many)));
}

namespace {

Request random_request(std::mt19937& random) {
  const auto below = [&random](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  const auto key = [&] { return "/k" + std::to_string(below(6)); };
  const auto value = [&] {
    return below(3) == 0 ? std::to_string(below(100)) : std::string(below(40), 'v');
  };
  Request request;
  request.operation = static_cast<Operation>(1 + below(19));
  const bool is_list =
      request.operation == Operation::kCheck || request.operation == Operation::kWait ||
      request.operation == Operation::kMultiGet || request.operation == Operation::kMultiSet;
  for (uint32_t i = is_list ? below(4) : 1; i > 0; --i) {
    request.keys.push_back(key());
    request.values.push_back(value());
  }
  request.values.push_back(value());  // COMPARE_SET's second
  request.number = below(5);
  return request;
}

// The replies to the bytes in pieces no longer than `longest`, until closed or done.
std::string replies(const std::string& input, std::mt19937& random, size_t longest) {
  KeyValue data;
  Session session(data, 1, Dialect::kD3);
  std::string_view rest = input;
  while (!rest.empty()) {
    const size_t size = std::min(rest.size(), 1 + random() % longest);
    if (!session.receive(rest.substr(0, size))) {
      return session.output + "closed";
    }
    rest.remove_prefix(size);
  }
  return session.output;
}

}  // namespace

Test(service, replies_the_same_however_the_requests_are_split) {
  const uint32_t seed = std::random_device()();
  std::mt19937 random(seed);
  int closed = 0;
  for (int round = 0; round < 400; ++round) {
    std::string input = bytes("00cef7853c");
    for (int i = 0; i < 60; ++i) {
      const auto encoded = encode_request(Dialect::kD3, random_request(random));
      input += encoded.value_or("");
    }
    if (round % 4 == 0) {
      input[5 + random() % (input.size() - 5)] ^= static_cast<char>(1u << random() % 8);
    }
    const std::string whole = replies(input, random, input.size());
    closed += whole.ends_with("closed") ? 1 : 0;
    for (const size_t longest : {size_t{1}, size_t{7}, size_t{200}}) {
      cr_assert(replies(input, random, longest) == whole, "seed %u, round %d, pieces of %zu", seed,
                round, longest);
    }
  }
  cr_assert(closed > 0 && closed < 400, "seed %u: %d closed", seed, closed);
}
