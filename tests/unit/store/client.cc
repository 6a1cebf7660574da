// SPDX-License-Identifier: Apache-2.0
#include "lib/store/client.h"

#include "lib/store/listen.h"
#include "tests/unit/store/bytes.h"
#include "tests/unit/store/loopback.h"

#include <optional>
#include <thread>

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

using namespace distinit;

namespace {

Deadline soon() {
  return Deadline(milliseconds(10'000));
}

StoreClient connect_to(int port) {
  auto client = StoreClient::connect("127.0.0.1", port, soon());
  cr_assert(client.has_value(), "%s", client ? "" : client.error().what.c_str());
  return std::move(*client);
}

template <typename T>
void expect_error(const Result<T>& result, std::string_view part, int sys_errno) {
  cr_assert(!result.has_value());
  cr_assert(result.error().code == ErrorCode::kRendezvous);
  cr_assert(result.error().what.find(part) != std::string::npos, "%s", result.error().what.c_str());
  cr_assert(result.error().sys_errno == sys_errno, "%s", result.error().what.c_str());
}

// A listener whose queue nobody takes from.
Fd listen_here() {
  auto listening = listen_on("127.0.0.1", 0);
  cr_assert(listening.has_value());
  return std::move(*listening);
}

}  // namespace

Test(client, does_every_operation) {
  ServerThread server;
  StoreClient client = connect_to(server.port());
  cr_assert(client.set("/k", "v", soon()).has_value());
  cr_assert(*client.get("/k", soon()) == "v");
  cr_assert(client.set("/empty", "", soon()).has_value());
  cr_assert(client.get("/empty", soon())->empty());
  cr_assert(*client.add("/n", 5, soon()) == 5 && *client.add("/n", -7, soon()) == -2);
  cr_assert(client.wait({"/k", "/n"}, soon()).has_value());
  cr_assert(*client.check({"/k", "/n"}, soon()) && !*client.check({"/k", "/none"}, soon()));
  cr_assert(*client.multi_get({"/n", "/k", "/empty", "/k"}, soon()) ==
            (std::vector<std::string>{"-2", "v", "", "v"}));
  cr_assert(*client.compare_set("/c", "", "x", soon()) == "x");
  cr_assert(*client.compare_set("/c", "y", "z", soon()) == "x");
  cr_assert(*client.num_keys(soon()) == 4);
  cr_assert(*client.remove("/k", soon()) && !*client.remove("/k", soon()));
  const std::string large(3'000'000, 'x');
  cr_assert(client.set("/large", large, soon()).has_value());
  cr_assert(*client.get("/large", soon()) == large);
}

Test(client, speaks_over_ipv6) {
  ServerThread server({}, "::1");
  auto client = StoreClient::connect("::1", server.port(), soon());
  cr_assert(client && *client->add("/n", 1, soon()) == 1);
}

Test(client, waits_for_a_store_that_is_late) {
  Fd held = listen_here();
  const int port = bound_port(held);
  held.reset();
  std::optional<bool> connected;
  std::thread late([&] {
    auto client = StoreClient::connect("127.0.0.1", port, soon());
    connected = client.has_value();
  });
  std::this_thread::sleep_for(milliseconds(150));
  const auto listening = listen_on("127.0.0.1", port);
  late.join();
  cr_assert(listening.has_value() && connected == true);
}

Test(client, names_the_endpoint_that_refuses) {
  Fd held = listen_here();
  const int port = bound_port(held);
  held.reset();
  const auto started = Clock::now();
  const auto client = StoreClient::connect("127.0.0.1", port, Deadline(milliseconds(200)));
  expect_error(client, "127.0.0.1:" + std::to_string(port), ECONNREFUSED);
  cr_assert(Clock::now() - started < milliseconds(5000));
}

Test(client, withdraws_a_wait_that_takes_too_long) {
  ServerThread server;
  StoreClient client = connect_to(server.port());
  expect_error(client.wait({"/late"}, Deadline(milliseconds(60))), "key '/late'", ETIMEDOUT);
  expect_error(client.get("/late", Deadline(milliseconds(60))), "key '/late'", ETIMEDOUT);
  expect_error(client.multi_get({"/late"}, Deadline(milliseconds(60))), "key '/late'", ETIMEDOUT);
  server.call([](StoreServer& s) { s.data().set("/late", "v"); });
  cr_assert(*client.add("/n", 1, soon()) == 1, "still in step");
  cr_assert(*client.get("/late", soon()) == "v");
}

Test(client, takes_a_key_that_comes_while_it_withdraws) {
  const Fd listening = listen_here();
  std::thread double_of_a_server([&] {
    pollfd entry{listening.get(), POLLIN, 0};
    poll(&entry, 1, 10'000);
    RawClient peer(Fd(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC)));
    // VALIDATE, WAIT ["/k"], CANCEL_WAIT: answered ready, then cancelled.
    cr_assert(peer.receive(5 + 1 + 8 + 8 + 2 + 1).back() == '\x0c');
    peer.send(bytes("0001"));
    peer.expect("", "07");
  });
  StoreClient client = connect_to(bound_port(listening));
  cr_assert(client.wait({"/k"}, Deadline(milliseconds(50))).has_value());
  (void)client.num_keys(Deadline(milliseconds(1)));
  double_of_a_server.join();
}

Test(client, gives_up_on_a_store_that_does_not_answer) {
  const Fd listening = listen_here();
  StoreClient client = connect_to(bound_port(listening));
  const std::string endpoint = bound_endpoint(listening);
  expect_error(client.add("/n", 1, Deadline(milliseconds(50))), "store " + endpoint + ", key '/n'",
               ETIMEDOUT);
  expect_error(client.add("/n", 1, soon()), "closed after an earlier error", ENOTCONN);
}

Test(client, reports_a_refused_sum) {
  ServerThread server;
  StoreClient client = connect_to(server.port());
  cr_assert(client.set("/n", "text", soon()).has_value());
  expect_error(client.add("/n", 1, soon()), "key '/n'", ECONNRESET);
}

Test(client, wants_a_numeric_address) {
  const auto client = StoreClient::connect("localhost", 1, soon());
  cr_assert(!client && client.error().code == ErrorCode::kUsage);
}
