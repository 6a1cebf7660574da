// SPDX-License-Identifier: Apache-2.0
#include "lib/rendezvous/resolver.h"

#include "lib/base/text.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include <netdb.h>
#include <string.h>
#include <sys/epoll.h>

namespace distinit {

namespace {

/// The thread's work: one address a line into the pipe, whose end says that it is done.
void look_up(const std::string& host, const Fd& out) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::string lines;
  if (getaddrinfo(host.c_str(), nullptr, &wanted, &found) == 0) {
    for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
      sockaddr_storage storage{};
      memcpy(&storage, entry->ai_addr, std::min<size_t>(entry->ai_addrlen, sizeof storage));
      lines += SocketAddress(storage).host() + "\n";
    }
    freeaddrinfo(found);
  }
  // Nobody listens any more when the process is ending.
  static_cast<void>(write_all(out.get(), lines).has_value());
}

std::vector<SocketAddress> parse_lines(std::string_view lines) {
  std::vector<SocketAddress> addresses;
  for (const std::string_view line : split(lines, '\n')) {
    const auto address = SocketAddress::parse(line, 0);
    if (address && std::find(addresses.begin(), addresses.end(), *address) == addresses.end()) {
      addresses.push_back(*address);
    }
  }
  return addresses;
}

}  // namespace

void resolve(EventLoop& loop, const std::string& host,
             std::function<void(std::vector<SocketAddress>)> on_done) {
  if (const auto numeric = SocketAddress::parse(host, 0)) {
    loop.add_timer(milliseconds(0), [numeric, on_done] { on_done({*numeric}); });
    return;
  }
  auto pipe = make_pipe();
  if (!pipe) {
    loop.add_timer(milliseconds(0), [on_done] { on_done({}); });
    return;
  }
  std::thread([host, out = std::move(pipe->write)] { look_up(host, out); }).detach();
  const auto in = std::make_shared<Fd>(std::move(pipe->read));
  const auto watched = loop.add(in->get(), EPOLLIN, [&loop, in, on_done](uint32_t) {
    // All lines come in one write, far below what a pipe holds.
    const auto lines = read_all(in->get(), 65536);
    loop.remove(in->get());
    on_done(lines ? parse_lines(*lines) : std::vector<SocketAddress>());
  });
  if (!watched) {
    loop.add_timer(milliseconds(0), [on_done] { on_done({}); });
  }
}

}  // namespace distinit
