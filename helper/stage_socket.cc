// SPDX-License-Identifier: Apache-2.0
#include "helper/stage_socket.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

namespace distinit {

AgentSocket::AgentSocket(Fd fd) : fd_(std::move(fd)) {
  static_cast<void>(set_close_on_exec(fd_.get(), true).has_value());
}

std::optional<std::string> AgentSocket::receive(milliseconds longest) {
  const Deadline deadline(longest);
  while (true) {
    auto message = reader_.next();
    if (!message) {
      malformed_ = true;
      return std::nullopt;
    }
    if (message->has_value()) {
      return std::move(**message);
    }
    pollfd waiting{fd_.get(), POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(deadline.remaining().count()));
    timed_out_ = ready == 0;
    if (ready == 0 || (ready < 0 && errno != EINTR)) {
      return std::nullopt;
    }
    if (ready < 0) {
      continue;
    }
    char buffer[16384];
    const ssize_t count = recv(fd_.get(), buffer, sizeof buffer, 0);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
      continue;
    }
    if (count <= 0) {
      return std::nullopt;
    }
    reader_.append(std::string_view(buffer, static_cast<size_t>(count)));
  }
}

bool AgentSocket::send(std::string_view frame) {
  while (!frame.empty()) {
    const ssize_t count = ::send(fd_.get(), frame.data(), frame.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return false;
    }
    frame.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

bool AgentSocket::report(const Report& report) {
  if (!send(encode_report(report))) {
    return false;
  }
  const std::optional<std::string> answer = receive(milliseconds(2000));
  return answer && message_kind(*answer) == static_cast<uint8_t>(TaskMessage::kEnd);
}

}  // namespace distinit
