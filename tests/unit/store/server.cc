// SPDX-License-Identifier: Apache-2.0
#include "lib/store/server.h"

#include "lib/store/codec.h"
#include "tests/unit/store/bytes.h"
#include "tests/unit/store/loopback.h"

#include <vector>

#include <criterion/criterion.h>
#include <sys/socket.h>

using namespace distinit;

namespace {

constexpr milliseconds kMoment{50};

const char* const kSetA = "01 0100000000000000 61 0100000000000000 76";
const char* const kNoticeOfA = "00 0100000000000000 61 0100000000000000 76 0100000000000000 76";
const char* const kGetA = "03 0100000000000000 61";
const char* const kWaitA = "06 0100000000000000 0100000000000000 61";
const char* const kValueV = "0100000000000000 76";

void expect_works(int port) {
  RawClient client(port);
  client.send(handshake());
  client.expect("0d 01020304", "01020304");
}

}  // namespace

Test(server, serves_a_current_client_also_byte_by_byte) {
  ServerThread server;
  RawClient client(server.port());
  for (const char c : bytes(std::string("00cef7853c") + "0d 11223344" + kSetA)) {
    client.send(std::string_view(&c, 1));
  }
  client.expect(kGetA, std::string("11223344") + kValueV);
  server.call([](StoreServer& s) { cr_assert(*s.data().find("a") == "v"); });
}

Test(server, answers_pipelined_requests_in_order) {
  ServerThread server;
  RawClient client(server.port());
  client.expect(std::string("00cef7853c 0d 11223344") + kSetA + kGetA + kWaitA + "07",
                std::string("11223344") + kValueV + "00" + "0100000000000000");
}

Test(server, serves_ipv6_and_ipv4_on_one_socket) {
  ServerThread server({}, "");
  RawClient v4(server.port(), "127.0.0.1");
  RawClient v6(server.port(), "::1");
  v4.send(handshake());
  v6.send(handshake());
  v4.expect(kSetA, "");
  v4.expect(kGetA, kValueV);
  v6.expect(kGetA, kValueV);
}

Test(server, wakes_a_waiting_client_for_another_ones_key) {
  ServerThread server;
  RawClient waiting(server.port());
  RawClient other(server.port());
  waiting.send(handshake() + bytes(kWaitA));
  waiting.expect_silence(kMoment);
  other.send(handshake() + bytes(kSetA));
  cr_assert(waiting.receive(1) == bytes("00"));
  waiting.expect(kGetA, kValueV);
}

Test(server, wakes_a_waiting_client_for_the_owners_key) {
  ServerThread server;
  RawClient waiting(server.port());
  waiting.send(handshake() + bytes(kWaitA));
  waiting.expect_silence(kMoment);
  server.call([](StoreServer& s) { s.data().set("a", "v"); });
  cr_assert(waiting.receive(1) == bytes("00"));
}

Test(server, drops_the_wait_at_the_first_byte_of_the_next_request) {
  ServerThread server;
  RawClient giving_up(server.port());
  RawClient other(server.port());
  giving_up.send(handshake() + bytes(kWaitA));
  giving_up.expect_silence(kMoment);
  giving_up.send(bytes("03"));
  other.send(handshake());
  other.expect("07", "0000000000000000");  // the byte is there by now: one thread, in order
  other.send(bytes(kSetA));
  other.expect(kGetA, kValueV);
  giving_up.expect("0100000000000000 61", kValueV);
}

Test(server, forgets_the_wait_of_a_closed_connection) {
  ServerThread server;
  {
    RawClient waiting(server.port());
    waiting.send(handshake() + bytes(kWaitA));
    server.await("served", [](const StoreCounters& c) { return c.clients == 1; });
  }
  server.await("gone", [](const StoreCounters& c) { return c.clients == 0; });
  server.call([](StoreServer& s) { s.data().set("a", "v"); });
  expect_works(server.port());
}

Test(server, executes_what_came_before_the_end_of_a_connection) {
  ServerThread server;
  RawClient client(server.port());
  client.send(handshake() + bytes(kSetA));
  client.close();
  RawClient other(server.port());
  other.send(handshake() + bytes(kWaitA));
  cr_assert(other.receive(1) == bytes("00"));
}

Test(server, answers_a_half_closed_connection) {
  ServerThread server;
  RawClient client(server.port());
  client.send(handshake() + bytes(kSetA) + bytes(kGetA));
  shutdown(client.fd().get(), SHUT_WR);
  cr_assert(client.receive(9) == bytes(kValueV));
  client.expect_closed();
}

Test(server, counts_ranks) {
  ServerThread server;
  RawClient client(server.port());
  client.send(handshake());
  client.expect("04 0500000000000000 696e69742f 0100000000000000", "0100000000000000");
  RawClient old(server.port());
  old.expect("03 0500000000000000 696e69742f 0100000000000000", "0200000000000000");
  server.call([](StoreServer& s) {
    cr_assert(s.init_count() == 2);
    cr_assert(s.counters().clients == 2);
    s.data().remove("init/");
    cr_assert(s.init_count() == 0);
  });
}

Test(server, serves_d0) {
  ServerThread server;
  RawClient client(server.port());
  client.expect("02 0500000000000000 696e69742f 0100000000000000", "0100000000000000");
  client.send(bytes("00 0100000000000000 61 0100000000000000 76"));
  client.expect("04 0100000000000000 0100000000000000 61", "00");
  client.expect("01 0100000000000000 61", kValueV);
  client.expect("06 0100000000000000 61", "0100000000000000");
}

Test(server, takes_a_client_with_a_silent_second_connection_for_d1) {
  ServerThread server;
  RawClient client(server.port());
  client.expect("03 0500000000000000 696e69742f 0100000000000000", "0100000000000000");
  RawClient companion(server.port());
  // DELETE init/ in D1; in D2 it would be half an APPEND.
  client.expect("08 0500000000000000 696e69742f", "0100000000000000");
  // The companion speaks after all: WATCH.
  companion.expect("07 0100000000000000 61", "03");
  client.send(bytes("00 0100000000000000 61 0100000000000000 76"));
  cr_assert(companion.receive(27) ==
            bytes("01 0100000000000000 61 0000000000000000" + std::string(kValueV)));
}

Test(server, takes_a_lone_client_for_d2) {
  ServerThread server;
  RawClient client(server.port());
  client.expect("03 0500000000000000 696e69742f 0100000000000000", "0100000000000000");
  client.send(bytes("08 0100000000000000 61 0100000000000000 76"));  // APPEND
  client.expect("09 0100000000000000 0100000000000000 61", kValueV);
  client.expect("07 0100000000000000 61", "0100000000000000");
  client.expect("05 0100000000000000 0100000000000000 61 0b", "01");
}

Test(server, closes_probes_and_serves_on) {
  ServerThread server;
  for (const char* hex :
       {"474554202f20485454502f312e310d0a", "1603010200", "ff", "00cef7853d", "00 0000000001000000",
        "d1 00", "00cef7853c 13", "00cef7853c 00", "00cef7853c 03 0120000000000000",
        "03 0000000000000001", "00cef7853c 06 0100020000000000"}) {
    RawClient probe(server.port());
    probe.send(bytes(hex));
    probe.expect_closed();
  }
  cr_assert(server.counters().malformed == 11);
  expect_works(server.port());
}

Test(server, serves_others_beside_half_a_message) {
  ServerThread server;
  RawClient half(server.port());
  half.send(handshake() + bytes("01 0100000000000000 61 0000800000000000 76"));
  expect_works(server.port());
  half.send(std::string(kLongestValue - 1, 'x'));
  half.expect(kGetA, "0000800000000000 76");
}

Test(server, does_not_run_ahead_of_a_slow_reader) {
  ServerThread server;
  server.call([](StoreServer& s) { s.data().set("a", std::string(1 << 20, 'x')); });
  RawClient slow(server.port());
  std::string requests = handshake();
  constexpr size_t kMany = 64;
  for (size_t i = 0; i < kMany; ++i) {
    requests += bytes(kGetA);
  }
  slow.send(requests + bytes(kSetA));
  expect_works(server.port());
  // Far from all replies fit into the sockets' buffers: the SET at the end waits its turn.
  server.call([](StoreServer& s) { cr_assert(s.data().find("a")->size() == 1 << 20); });
  const std::string replies = slow.receive(kMany * ((1 << 20) + 8));
  cr_assert(replies.ends_with(std::string(1 << 20, 'x')));
  slow.expect(kGetA, kValueV);
}

Test(server, serves_what_waited_for_room_that_a_notice_made) {
  ServerThread server;
  server.call([](StoreServer& s) {
    s.data().set("a", "v");
    s.data().set("big", std::string(1 << 20, 'x'));
  });
  RawClient client(server.port());
  client.expect("03 0500000000000000 696e69742f 0100000000000000", "0100000000000000");
  RawClient watcher(server.port());
  server.await("the pair", [](const StoreCounters& c) { return c.silent == 0; });
  client.expect("06", "0300000000000000");
  watcher.expect("07 0100000000000000 61", "03");
  constexpr size_t kMany = 24;
  std::string requests;
  for (size_t i = 0; i < kMany; ++i) {
    requests += bytes("02 0300000000000000 626967");
  }
  watcher.send(requests);
  expect_works(server.port());
  // The server's own thread reads the watcher's replies here, so that only the notices send more of
  // them, until nothing is left to send.
  size_t received = 0;
  size_t notices = 0;
  server.call([&](StoreServer& s) {
    std::string buffer(size_t{1} << 20, '\0');
    for (int idle = 0; idle < 20;) {
      const ssize_t count = recv(watcher.fd().get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      received += count > 0 ? static_cast<size_t>(count) : 0;
      idle = count > 1000 ? 0 : idle + 1;  // notices alone are less
      if (count <= 0) {
        s.data().set("a", "v");
        ++notices;
        std::this_thread::sleep_for(milliseconds(1));
      }
    }
  });
  const size_t all = kMany * ((size_t{1} << 20) + 8) + notices * bytes(kNoticeOfA).size();
  cr_assert(received < all);
  watcher.receive(all - received);
}

Test(server, closes_a_watcher_that_does_not_read) {
  ServerThread server;
  RawClient client(server.port());
  client.expect("03 0500000000000000 696e69742f 0100000000000000", "0100000000000000");
  RawClient watcher(server.port());
  server.await("the pair", [](const StoreCounters& c) { return c.silent == 0; });
  client.expect("06", "0100000000000000");
  watcher.expect("07 0100000000000000 61", "03");
  server.call([](StoreServer& s) {
    const std::string large(1 << 20, 'x');
    for (int i = 0; i < 80; ++i) {
      s.data().set("a", large);
    }
  });
  watcher.expect_closed();
  server.await("closed", [](const StoreCounters& c) { return c.clients == 1; });
}

Test(server, hands_another_protocol_over_with_its_bytes) {
  const std::string preamble = bytes("d1 000102030405060708090a0b0c0d0e");
  Fd taken;
  std::string taken_bytes;
  ServerThread server([&](StoreServer& s) {
    s.set_foreign_protocol(preamble, [&](Fd fd, std::string so_far, const sockaddr_storage& peer) {
      taken = std::move(fd);
      taken_bytes = std::move(so_far);
      cr_assert(is_loopback(peer));
    });
  });
  RawClient stranger(server.port());
  stranger.send(preamble + "more");
  const Deadline deadline(milliseconds(10'000));
  bool there = false;
  while (!there && !deadline.has_passed()) {
    server.call([&](StoreServer& s) { there = taken.is_open() && s.counters().silent == 0; });
  }
  cr_assert(there && taken_bytes == preamble + "more");
  cr_assert(::send(taken.get(), "hi", 2, 0) == 2);
  cr_assert(stranger.receive(2) == "hi");
  stranger.close();
  expect_works(server.port());
}

Test(server, asks_before_it_executes_anything) {
  std::vector<std::function<void(bool)>> decisions;
  ServerThread server([&](StoreServer& s) {
    s.set_admission([&](const ConnectionInfo& info, std::function<void(bool)> decide) {
      cr_assert(info.fd >= 0 && is_loopback(info.peer) && is_loopback(info.local));
      cr_assert(port_of(info.peer) != port_of(info.local));
      decisions.push_back(std::move(decide));
    });
  });
  RawClient admitted(server.port());
  admitted.send(handshake() + bytes(kSetA));
  admitted.send(bytes(kGetA));
  admitted.expect_silence(kMoment);
  server.call([&](StoreServer& s) {
    cr_assert(decisions.size() == 1 && s.data().size() == 0 && s.counters().clients == 0);
    decisions[0](true);
    decisions[0](false);  // only the first counts
  });
  cr_assert(admitted.receive(9) == bytes(kValueV));

  RawClient refused(server.port());
  refused.send(handshake() + bytes("07"));
  server.await("asked", [&](const StoreCounters&) { return decisions.size() == 2; });
  server.call([&](StoreServer&) { decisions[1](false); });
  refused.expect_closed();
  cr_assert(server.counters().turned_away == 1);
}

Test(server, buffers_little_for_who_is_not_admitted) {
  std::function<void(bool)> decision;
  ServerThread server([&](StoreServer& s) {
    s.set_admission([&](const ConnectionInfo&, auto decide) { decision = std::move(decide); });
  });
  RawClient client(server.port());
  client.send(handshake());
  // More than all buffers between us hold, in small requests.
  const std::string request = bytes(kSetA);
  size_t sent = 0;
  while (sent < size_t{64} << 20) {
    const ssize_t count =
        ::send(client.fd().get(), request.data(), request.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count != static_cast<ssize_t>(request.size())) {
      break;
    }
    sent += request.size();
  }
  cr_assert(sent < size_t{64} << 20, "the server read on");
  server.call([&](StoreServer& s) {
    cr_assert(s.data().size() == 0);
    decision(true);
  });
  server.await("admitted", [](const StoreCounters& c) { return c.clients == 1; });
}

Test(server, serves_who_left_before_being_admitted) {
  std::function<void(bool)> decision;
  ServerThread server([&](StoreServer& s) {
    s.set_admission([&](const ConnectionInfo&, auto decide) { decision = std::move(decide); });
  });
  RawClient client(server.port());
  client.send(handshake() + bytes(kSetA));
  client.close();
  server.await("asked", [&](const StoreCounters&) { return decision != nullptr; });
  server.call([&](StoreServer& s) {
    decision(true);
    cr_assert(s.data().find("a") != nullptr && s.counters().clients == 0);
  });
}

Test(server, ignores_a_decision_that_comes_too_late) {
  std::function<void(bool)> decision;
  {
    ServerThread server([&](StoreServer& s) {
      s.set_admission([&](const ConnectionInfo&, auto decide) { decision = std::move(decide); });
    });
    RawClient client(server.port());
    client.send(handshake());
    server.await("asked", [&](const StoreCounters&) { return decision != nullptr; });
    server.call([&](StoreServer& s) {
      s.close_all();
      decision(true);
      cr_assert(s.counters().clients == 0);
    });
    client.expect_closed();
  }
  decision(true);  // the server is gone
}

Test(server, closes_everything_when_told) {
  ServerThread server;
  RawClient client(server.port());
  client.send(handshake() + bytes(kSetA));
  RawClient silent(server.port());
  server.await("both", [](const StoreCounters& c) { return c.clients == 1 && c.silent == 1; });
  server.call([](StoreServer& s) { s.close_all(); });
  client.expect_closed();
  silent.expect_closed();
  server.call([](StoreServer& s) {
    cr_assert(s.counters().clients == 0 && s.counters().silent == 0);
    cr_assert(*s.data().find("a") == "v");
  });
}
