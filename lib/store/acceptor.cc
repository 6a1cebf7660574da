// SPDX-License-Identifier: Apache-2.0
#include "lib/store/acceptor.h"

#include <utility>

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>

namespace distinit {

namespace {

// Between two rounds the other connections are served.
constexpr int kMostPerRound = 256;
// How long the queue is left alone when connections can be neither taken nor refused.
constexpr milliseconds kPause{100};

Fd duplicate(const Fd& fd) {
  return Fd(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
}

bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

Acceptor::Acceptor(EventLoop& loop, Fd listening, OnAccept on_accept, MakeRoom make_room)
    : loop_(loop),
      listening_(std::move(listening)),
      spare_(duplicate(listening_)),
      on_accept_(std::move(on_accept)),
      make_room_(std::move(make_room)) {}

Acceptor::~Acceptor() {
  loop_.remove(listening_.get());
  if (pause_) {
    loop_.cancel_timer(*pause_);
  }
}

Status Acceptor::start() {
  return loop_.add(listening_.get(), EPOLLIN, [this](uint32_t) { accept_pending(); });
}

void Acceptor::accept_pending() {
  if (accepting_) {
    return;  // called from inside a callback of ours
  }
  accepting_ = true;
  for (int i = 0; i < kMostPerRound; ++i) {
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    Fd fd(accept4(listening_.get(), reinterpret_cast<sockaddr*>(&peer), &length,
                  SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.is_open()) {
      on_accept_(std::move(fd), peer);
      continue;
    }
    const int error = errno;
    if (error == EAGAIN) {
      break;
    }
    // Anything else (ECONNABORTED, network errors of that one connection, accept(2)) concerns only
    // the connection that was next.
    if (is_shortage(error) && !make_room_() && !refuse_one()) {
      pause();
      break;
    }
  }
  accepting_ = false;
}

bool Acceptor::refuse_one() {
  if (!spare_.is_open()) {
    spare_ = duplicate(listening_);
    return spare_.is_open();
  }
  spare_.reset();
  Fd refused(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const bool taken = refused.is_open();
  refused.reset();
  spare_ = duplicate(listening_);
  refused_ += taken ? 1 : 0;
  return taken;
}

void Acceptor::pause() {
  if (pause_) {
    return;
  }
  loop_.modify(listening_.get(), 0);
  pause_ = loop_.add_timer(kPause, [this] {
    pause_.reset();
    loop_.modify(listening_.get(), EPOLLIN);
  });
}

}  // namespace distinit
