// SPDX-License-Identifier: Apache-2.0
#include "lib/base/frame_link.h"

#include <utility>

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace distinit {

Result<std::shared_ptr<FrameLink>> FrameLink::open(EventLoop& loop, Fd fd, OnMessage on_message,
                                                   OnClose on_close, std::string received) {
  DISTINIT_RETURN_IF_ERROR(set_nonblocking(fd.get()));
  const int number = fd.get();
  std::shared_ptr<FrameLink> link(
      new FrameLink(loop, std::move(fd), std::move(on_message), std::move(on_close)));
  const std::weak_ptr<FrameLink> weak = link;
  DISTINIT_RETURN_IF_ERROR(loop.add(number, EPOLLIN, [weak](uint32_t events) {
    if (const auto self = weak.lock()) {
      self->on_event(events);
    }
  }));
  if (!received.empty()) {
    link->reader_.append(received);
    loop.add_timer(milliseconds(0), [weak] {
      if (const auto self = weak.lock()) {
        self->deliver();
      }
    });
  }
  return link;
}

FrameLink::~FrameLink() {
  if (fd_.is_open()) {
    loop_.remove(fd_.get());
  }
}

void FrameLink::rebind(OnMessage on_message, OnClose on_close) {
  on_message_ = std::move(on_message);
  on_close_ = std::move(on_close);
}

void FrameLink::send(std::string_view frames) {
  if (fd_.is_open()) {
    out_ += frames;
    write_some();
  }
}

void FrameLink::close() {
  if (fd_.is_open()) {
    write_some();
  }
  if (fd_.is_open()) {
    loop_.remove(fd_.get());
    fd_.reset();
  }
}

void FrameLink::on_event(uint32_t events) {
  if ((events & EPOLLOUT) != 0) {
    write_some();
  }
  if (fd_.is_open() && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
    read_some();
  }
}

void FrameLink::read_some() {
  char buffer[65536];
  const ssize_t count = recv(fd_.get(), buffer, sizeof buffer, 0);
  if (count < 0) {
    if (errno != EAGAIN && errno != EINTR) {
      fail(errno);
    }
    return;
  }
  if (count == 0) {
    fail(0);
    return;
  }
  reader_.append(std::string_view(buffer, static_cast<size_t>(count)));
  deliver();
}

void FrameLink::deliver() {
  while (fd_.is_open()) {
    auto message = reader_.next();
    if (!message) {
      fail(EPROTO);
      return;
    }
    if (!message->has_value()) {
      return;
    }
    // A copy: the callback may replace or drop the link.
    const OnMessage on_message = on_message_;
    on_message(std::move(**message));
  }
}

void FrameLink::write_some() {
  while (!out_.empty()) {
    const ssize_t count = ::send(fd_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      // A dead peer is told by the read side, so that on_close always comes from the loop.
      if (errno != EAGAIN) {
        out_.clear();
      }
      break;
    }
    out_.erase(0, static_cast<size_t>(count));
  }
  const bool wanted = !out_.empty();
  if (wanted != writing_) {
    writing_ = wanted;
    loop_.modify(fd_.get(), wanted ? EPOLLIN | EPOLLOUT : EPOLLIN);
  }
}

void FrameLink::fail(int sys_errno) {
  loop_.remove(fd_.get());
  fd_.reset();
  const OnClose on_close = on_close_;
  if (on_close) {
    on_close(sys_errno);
  }
}

}  // namespace distinit
