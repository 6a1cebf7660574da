// SPDX-License-Identifier: Apache-2.0
#pragma once
// Takes connections from a listening socket, also when descriptors run out: then a new one is
// refused at once, instead of staying in the queue and waking us up for ever.

#include "lib/base/event_loop.h"
#include "lib/base/fd.h"

#include <functional>
#include <optional>

#include <stddef.h>
#include <sys/socket.h>

namespace distinit {

class Acceptor {
 public:
  /// A new connection, non-blocking and close-on-exec.
  using OnAccept = std::function<void(Fd, const sockaddr_storage& peer)>;
  /// No descriptor is left: closes something and returns true, or returns false.
  using MakeRoom = std::function<bool()>;

  /// `loop` must outlive this object; `listening` must be non-blocking.
  Acceptor(EventLoop& loop, Fd listening, OnAccept on_accept, MakeRoom make_room);
  Acceptor(const Acceptor&) = delete;
  ~Acceptor();

  /// Watches the socket from now on. Fails as EventLoop::add does.
  Status start();
  /// Takes what is in the queue, at most some hundred.
  void accept_pending();
  /// Connections refused because no descriptor was left.
  size_t refused() const { return refused_; }

 private:
  bool refuse_one();
  void pause();

  EventLoop& loop_;
  Fd listening_;
  Fd spare_;  // given up for a moment to take a connection that is then closed
  OnAccept on_accept_;
  MakeRoom make_room_;
  std::optional<EventLoop::TimerId> pause_;
  bool accepting_ = false;
  size_t refused_ = 0;
};

}  // namespace distinit
