// SPDX-License-Identifier: Apache-2.0
#include "lib/rendezvous/seeker.h"

#include "lib/base/text.h"
#include "lib/base/wire.h"
#include "lib/rendezvous/keepalive.h"

#include <algorithm>
#include <utility>

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

namespace distinit {

namespace {

/// A stranger that accepts and says nothing holds one attempt for this long; the next starts much
/// earlier.
constexpr milliseconds kAttemptLimit{3000};
constexpr milliseconds kNextAttempt{100};
/// Between rounds; doubles from the first to the second.
constexpr milliseconds kFirstPause{2};
constexpr milliseconds kLongestPause{500};

}  // namespace

struct Seeker::Attempt {
  SocketAddress address;
  Fd connecting;
  std::shared_ptr<FrameLink> link;
  std::string nonce = make_nonce();
  EventLoop::TimerId timer = 0;
};

Seeker::Seeker(EventLoop& loop, const StepKey& key, std::vector<int> ports, OnFound on_found)
    : loop_(loop), key_(key), ports_(std::move(ports)), on_found_(std::move(on_found)) {}

Seeker::~Seeker() {
  loop_.cancel_timer(timer_);
  for (const auto& [text, attempt] : attempts_) {
    loop_.cancel_timer(attempt->timer);
    loop_.remove(attempt->connecting.get());
  }
}

void Seeker::add_host(const SocketAddress& host) {
  const SocketAddress plain = host.with_port(0);
  if (!host.valid() || std::find(hosts_.begin(), hosts_.end(), plain) != hosts_.end()) {
    return;
  }
  hosts_.push_back(plain);
  if (hosts_.size() == 1) {
    start_round();
  }
}

std::string Seeker::describe() const {
  std::vector<std::string> hosts;
  std::vector<std::string> ports;
  for (const SocketAddress& host : hosts_) {
    hosts.push_back(host.host());
  }
  for (const int port : ports_) {
    ports.push_back(concat(port));
  }
  if (hosts.empty()) {
    return "its name has no usable address";
  }
  return concat(abbreviate(join(hosts, ","), 120), ports.size() == 1 ? " port " : " ports ",
                abbreviate(join(ports, ","), 120), ": ", last_.empty() ? "no answer yet" : last_);
}

void Seeker::start_round() {
  // The root nearly always has the first port: early rounds look at few, and only patience widens
  // the search.
  const size_t most = rounds_ < 8 ? (size_t{1} << rounds_) : ports_.size();
  const size_t count = std::min(most, ports_.size());
  round_.clear();
  for (size_t i = count; i > 0; --i) {
    for (auto host = hosts_.rbegin(); host != hosts_.rend(); ++host) {
      round_.push_back(host->with_port(ports_[i - 1]));
    }
  }
  ++rounds_;
  start_next();
}

void Seeker::start_next() {
  loop_.cancel_timer(timer_);
  if (round_.empty()) {
    const auto doubled = kFirstPause * (size_t{1} << std::min<size_t>(rounds_, 10));
    timer_ =
        loop_.add_timer(std::min<milliseconds>(doubled, kLongestPause), [this] { start_round(); });
    return;
  }
  const SocketAddress address = round_.back();
  round_.pop_back();
  timer_ = loop_.add_timer(attempts_.contains(address.text()) ? milliseconds(0) : kNextAttempt,
                           [this] { start_next(); });
  if (!attempts_.contains(address.text())) {
    start_attempt(address);
  }
}

void Seeker::start_attempt(const SocketAddress& address) {
  auto attempt = std::make_shared<Attempt>();
  attempt->address = address;
  attempt->connecting =
      Fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  attempts_.emplace(address.text(), attempt);
  attempt->timer = loop_.add_timer(kAttemptLimit, [this, attempt] {
    end_attempt(attempt, attempt->link ? "something that is not this step's store answers there"
                                       : strerror(ETIMEDOUT));
  });
  const int fd = attempt->connecting.get();
  const bool connected = fd >= 0 && ::connect(fd, address.data(), address.size()) == 0;
  if (fd < 0 || (!connected && errno != EINPROGRESS)) {
    end_attempt(attempt, strerror(errno));
    return;
  }
  const auto watched =
      loop_.add(fd, EPOLLOUT, [this, attempt](uint32_t) { on_connected(attempt); });
  if (!watched) {
    end_attempt(attempt, watched.error().what);
  }
}

void Seeker::on_connected(const std::shared_ptr<Attempt>& attempt) {
  int failure = 0;
  socklen_t size = sizeof failure;
  getsockopt(attempt->connecting.get(), SOL_SOCKET, SO_ERROR, &failure, &size);
  loop_.remove(attempt->connecting.get());
  // A connection to an ephemeral-range port of this very machine can meet itself.
  const bool itself = SocketAddress::local_of(attempt->connecting.get()) == attempt->address;
  if (failure != 0 || itself) {
    end_attempt(attempt, strerror(failure != 0 ? failure : ECONNREFUSED));
    return;
  }
  keep_link_alive(attempt->connecting.get());
  const std::weak_ptr<Attempt> weak = attempt;
  auto link = FrameLink::open(
      loop_, std::move(attempt->connecting),
      [this, weak](std::string message) {
        if (const auto self = weak.lock()) {
          on_proof(self, message);
        }
      },
      [this, weak](int sys_errno) {
        if (const auto self = weak.lock()) {
          end_attempt(self, sys_errno == 0 || sys_errno == EPROTO
                                ? "something that is not this step's store answers there"
                                : strerror(sys_errno));
        }
      });
  if (!link) {
    end_attempt(attempt, link.error().what);
    return;
  }
  attempt->link = std::move(*link);
  attempt->link->send(concat(kAgentPreamble, make_frame(attempt->nonce)));
}

void Seeker::on_proof(const std::shared_ptr<Attempt>& attempt, std::string_view message) {
  WireReader reader(message);
  const std::string nonce = reader.get_text();
  const std::string proof = reader.get_text();
  if (!reader.at_end() || nonce.size() != kNonceSize ||
      !key_.accepts(proof, kRootSide, attempt->nonce, nonce)) {
    end_attempt(attempt, "another step's store answers there");
    return;
  }
  attempt->link->send(make_frame(key_.proof(kMemberSide, attempt->nonce, nonce)));
  loop_.cancel_timer(timer_);
  for (const auto& [text, other] : attempts_) {
    loop_.cancel_timer(other->timer);
    loop_.remove(other->connecting.get());
  }
  const std::shared_ptr<FrameLink> link = std::move(attempt->link);
  const SocketAddress address = attempt->address;
  attempts_.clear();
  // A copy: the owner may destroy this object from inside.
  const OnFound on_found = on_found_;
  on_found(link, address);
}

void Seeker::end_attempt(const std::shared_ptr<Attempt>& attempt, std::string why) {
  loop_.cancel_timer(attempt->timer);
  loop_.remove(attempt->connecting.get());
  attempt->link.reset();
  if (attempts_.erase(attempt->address.text()) > 0) {
    last_ = std::move(why);
    // The next port, or the next round after its pause: a refusal need not be waited out.
    loop_.cancel_timer(timer_);
    timer_ = loop_.add_timer(milliseconds(0), [this] { start_next(); });
  }
}

}  // namespace distinit
