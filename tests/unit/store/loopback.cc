// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/store/loopback.h"

#include "lib/base/text.h"
#include "lib/store/listen.h"
#include "tests/unit/store/bytes.h"

#include <future>

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace distinit {

namespace {

constexpr milliseconds kPatience{10'000};

template <typename T>
T must(Result<T> result) {
  cr_assert(result.has_value(), "%s", result ? "" : result.error().what.c_str());
  return std::move(result).value();
}

bool is_readable(int fd, Deadline deadline) {
  pollfd entry{fd, POLLIN, 0};
  return poll(&entry, 1, static_cast<int>(deadline.remaining().count())) == 1;
}

// An order to the server's thread: work, and a promise for when it is done.
struct Order {
  const std::function<void(StoreServer&)>* work;
  std::promise<void> done;
};

}  // namespace

ServerThread::ServerThread(std::function<void(StoreServer&)> prepare, std::string_view address)
    : loop_(must(EventLoop::create())), orders_(must(make_pipe())) {
  Fd listening = must(listen_on(address, 0));
  port_ = bound_port(listening);
  server_ = std::make_unique<StoreServer>(loop_, std::move(listening));
  if (prepare) {
    prepare(*server_);
  }
  must(server_->start());
  must(loop_.add(orders_.read.get(), EPOLLIN, [this](uint32_t) {
    Order* order = nullptr;
    if (read(orders_.read.get(), &order, sizeof order) != sizeof order || order == nullptr) {
      return loop_.stop();
    }
    (*order->work)(*server_);
    order->done.set_value();
  }));
  thread_ = std::thread([this] { loop_.run(); });
}

ServerThread::~ServerThread() {
  orders_.write.reset();  // end of file ends the loop
  thread_.join();
}

void ServerThread::call(const std::function<void(StoreServer&)>& work) {
  Order order{&work, {}};
  Order* const pointer = &order;
  auto done = order.done.get_future();
  cr_assert(write(orders_.write.get(), &pointer, sizeof pointer) == sizeof pointer);
  done.wait();
}

StoreCounters ServerThread::counters() {
  StoreCounters out;
  call([&out](StoreServer& server) { out = server.counters(); });
  return out;
}

void ServerThread::await(const char* what,
                         const std::function<bool(const StoreCounters&)>& condition) {
  const Deadline deadline(kPatience);
  while (true) {
    bool holds = false;
    call([&](StoreServer& server) { holds = condition(server.counters()); });
    if (holds) {
      return;
    }
    cr_assert(!deadline.has_passed(), "in vain: %s", what);
    std::this_thread::sleep_for(milliseconds(2));
  }
}

RawClient::RawClient(int port, const char* host) {
  const sockaddr_storage to = must(parse_address(host, port));
  fd_ = Fd(socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  cr_assert(fd_.is_open(), "errno %d", errno);
  cr_assert(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), address_length(to)) == 0,
            "errno %d", errno);
}

void RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    cr_assert(count > 0, "errno %d", errno);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

std::string RawClient::receive(size_t count) {
  std::string out(count, '\0');
  size_t have = 0;
  const Deadline deadline(kPatience);
  while (have < count) {
    cr_assert(is_readable(fd_.get(), deadline), "only %zu of %zu bytes came", have, count);
    const ssize_t received = recv(fd_.get(), out.data() + have, count - have, 0);
    cr_assert(received > 0, "closed after %zu of %zu bytes", have, count);
    have += static_cast<size_t>(received);
  }
  return out;
}

void RawClient::expect(std::string_view request, std::string_view reply) {
  send(::bytes(request));
  const std::string wanted = ::bytes(reply);
  const std::string got = receive(wanted.size());
  cr_assert(got == wanted, "%s: got %s", std::string(request).c_str(), to_hex(got).c_str());
}

void RawClient::expect_silence(milliseconds time) {
  cr_assert(!is_readable(fd_.get(), Deadline(time)));
}

bool RawClient::is_closed_within(milliseconds time) {
  const Deadline deadline(time);
  char buffer[4096];
  while (is_readable(fd_.get(), deadline)) {
    if (recv(fd_.get(), buffer, sizeof buffer, 0) <= 0) {
      return true;
    }
  }
  return false;
}

void RawClient::expect_closed() {
  cr_assert(is_closed_within(kPatience));
}

std::string handshake() {
  return ::bytes("00cef7853c");
}

}  // namespace distinit
