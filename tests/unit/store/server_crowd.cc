// SPDX-License-Identifier: Apache-2.0
// Many connections, and too few descriptors for them.
#include "lib/store/client.h"
#include "lib/store/server.h"
#include "tests/unit/store/bytes.h"
#include "tests/unit/store/loopback.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

using namespace distinit;

namespace {

const char* const kAddInit = "03 0500000000000000 696e69742f 0100000000000000";

void set_descriptor_limit(rlim_t soft) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = soft;
  cr_assert(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

rlim_t most_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_max;
}

// Takes every free descriptor but `spared`.
std::vector<Fd> hoard(size_t spared) {
  std::vector<Fd> out;
  while (true) {
    Fd fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!fd.is_open()) {
      break;
    }
    out.push_back(std::move(fd));
  }
  out.resize(out.size() - spared);
  return out;
}

milliseconds cpu_time() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return milliseconds(now.tv_sec * 1000 + now.tv_nsec / 1'000'000);
}

void expect_client_works(int port) {
  const Deadline deadline(milliseconds(20'000));
  auto client = StoreClient::connect("127.0.0.1", port, deadline);
  cr_assert(client.has_value(), "%s", client ? "" : client.error().what.c_str());
  cr_assert(client->set("/k", "v", deadline).has_value());
  const auto value = client->get("/k", deadline);
  cr_assert(value && *value == "v");
}

}  // namespace

Test(server_crowd, serves_among_thousands_of_silent_connections, .timeout = 120) {
  const rlim_t limit = most_descriptors();
  if (limit < 5000) {
    cr_skip("the descriptor limit of %llu is too low", static_cast<unsigned long long>(limit));
  }
  set_descriptor_limit(limit);
  ServerThread server;
  std::vector<RawClient> silent;
  for (int i = 0; i < 2000; ++i) {
    silent.emplace_back(server.port());
  }
  server.await("all silent", [](const StoreCounters& c) { return c.silent == 2000; });
  expect_client_works(server.port());
  const auto before = cpu_time();
  silent.back().expect_silence(milliseconds(300));
  cr_assert(cpu_time() - before < milliseconds(100), "nobody is busy");
  cr_assert(server.counters().evicted == 0 && server.counters().silent == 2000);
}

Test(server_crowd, closes_the_oldest_silent_connection_beyond_the_most) {
  ServerThread server([](StoreServer& s) { s.set_most_silent(10); });
  RawClient pending(server.port());
  pending.send(bytes("00"));  // no dialect yet: still counts as silent
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 10; ++i) {
    silent.push_back(std::make_unique<RawClient>(server.port()));
  }
  pending.expect_closed();
  silent.push_back(std::make_unique<RawClient>(server.port()));
  silent[0]->expect_closed();
  silent[1]->expect("00cef7853c 0d 01020304", "01020304");
  const StoreCounters counters = server.counters();
  cr_assert(counters.evicted == 2 && counters.silent == 9 && counters.clients == 1);
}

Test(server_crowd, keeps_the_silent_companion_of_an_old_client) {
  ServerThread server([](StoreServer& s) { s.set_most_silent(3); });
  RawClient client(server.port());
  client.expect(kAddInit, "0100000000000000");
  RawClient companion(server.port());
  server.await("the pair", [](const StoreCounters& c) { return c.clients == 1; });
  std::vector<RawClient> silent;
  for (int i = 0; i < 20; ++i) {
    silent.emplace_back(server.port());
  }
  server.await("evicted", [](const StoreCounters& c) { return c.evicted == 17; });
  companion.expect("07 0100000000000000 61", "03");
}

Test(server_crowd, makes_room_for_a_client_when_descriptors_run_out) {
  set_descriptor_limit(256);
  ServerThread server([](StoreServer& s) { s.set_most_silent(100'000); });
  std::vector<RawClient> silent;
  for (int i = 0; i < 40; ++i) {
    silent.emplace_back(server.port());
  }
  server.await("all silent", [](const StoreCounters& c) { return c.silent == 40; });
  const auto hoarded = hoard(1);  // for the client's own end
  expect_client_works(server.port());
  cr_assert(server.counters().evicted >= 1);
  silent[0].expect_closed();
  silent[39].expect("00cef7853c 0d 01020304", "01020304");
}

Test(server_crowd, refuses_the_new_and_keeps_the_old_when_nobody_can_go) {
  set_descriptor_limit(256);
  ServerThread server;
  RawClient old(server.port());
  old.send(handshake());
  old.expect("0d 01020304", "01020304");
  // A sanitizer wants descriptors when it sees a type for the first time.
  cr_assert(server.counters().refused == 0);
  std::vector<Fd> hoarded = hoard(1);
  RawClient refused(server.port());
  refused.expect_closed();
  cr_assert(server.counters().refused == 1);
  old.expect("0d 01020304", "01020304");
  const auto before = cpu_time();
  old.expect_silence(milliseconds(300));
  cr_assert(cpu_time() - before < milliseconds(100), "the loop does not spin");
  hoarded.resize(hoarded.size() - 4);
  expect_client_works(server.port());
}

Test(server_crowd, lets_many_clients_meet, .timeout = 120) {
  constexpr int kClients = 32;
  ServerThread server;
  std::vector<std::thread> threads;
  std::atomic<int> met = 0;
  for (int i = 0; i < kClients; ++i) {
    threads.emplace_back([&server, &met, i] {
      const Deadline deadline(milliseconds(60'000));
      auto client = StoreClient::connect("127.0.0.1", server.port(), deadline);
      if (!client) {
        return;
      }
      for (int round = 0; round < 20; ++round) {
        const std::string prefix = "/" + std::to_string(round) + "/";
        const auto count = client->add(prefix + "arrived", 1, deadline);
        if (count && *count == kClients) {
          (void)client->set(prefix + "all", std::to_string(i), deadline);
        }
        met += client->get(prefix + "all", deadline).has_value() ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  cr_assert(met == kClients * 20, "%d", met.load());
}
