// SPDX-License-Identifier: Apache-2.0
#pragma once
// One non-blocking stream socket on an event loop that carries frames both ways.

#include "lib/base/event_loop.h"
#include "lib/base/frame.h"

#include <functional>
#include <memory>
#include <string>

namespace distinit {

/// Owned by shared_ptr only: a callback may drop its own link. After on_close, or close(), no
/// callback comes.
class FrameLink : public std::enable_shared_from_this<FrameLink> {
 public:
  /// The content of one frame.
  using OnMessage = std::function<void(std::string message)>;
  /// 0: the peer closed in order; EPROTO: it sent something that is no frame; else errno.
  using OnClose = std::function<void(int sys_errno)>;

  /// Takes the connected socket and makes it non-blocking; `received` are bytes that were read from
  /// it already. The loop must outlive the link. Callbacks come from the loop only, never from in
  /// here.
  static Result<std::shared_ptr<FrameLink>> open(EventLoop& loop, Fd fd, OnMessage on_message,
                                                 OnClose on_close, std::string received = {});
  ~FrameLink();

  /// Other callbacks from now on, for a link that changes hands.
  void rebind(OnMessage on_message, OnClose on_close);

  /// Queues whole frames (see make_frame) and writes what fits. A failure to write shows as
  /// on_close.
  void send(std::string_view frames);
  /// Bytes queued and not yet given to the kernel.
  size_t unsent() const { return out_.size(); }
  bool is_open() const { return fd_.is_open(); }
  int fd() const { return fd_.get(); }
  /// Writes what fits and closes.
  void close();

 private:
  FrameLink(EventLoop& loop, Fd fd, OnMessage on_message, OnClose on_close)
      : loop_(loop),
        fd_(std::move(fd)),
        on_message_(std::move(on_message)),
        on_close_(std::move(on_close)) {}

  void on_event(uint32_t events);
  void read_some();
  void deliver();
  void write_some();
  void fail(int sys_errno);

  EventLoop& loop_;
  Fd fd_;
  OnMessage on_message_;
  OnClose on_close_;
  FrameReader reader_;
  std::string out_;
  bool writing_ = false;
};

}  // namespace distinit
