// SPDX-License-Identifier: Apache-2.0
#include "lib/store/client.h"

#include "lib/base/socket_address.h"
#include "lib/base/text.h"

#include <algorithm>
#include <utility>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

namespace distinit {

namespace {

// Between two attempts to connect.
constexpr milliseconds kRetry{50};
// For the store to answer that a wait was withdrawn.
constexpr milliseconds kWithdraw{5000};

Error timed_out() {
  return system_error(ErrorCode::kRendezvous, "no answer", ETIMEDOUT);
}

// Waits for events until the deadline.
Status poll_for(int fd, short events, Deadline deadline) {
  while (true) {
    pollfd entry{fd, events, 0};
    const int count = poll(&entry, 1, static_cast<int>(deadline.remaining().count()));
    if (count > 0) {
      return Ok{};
    }
    if (count == 0 && deadline.has_passed()) {
      return timed_out();
    }
    if (count < 0 && errno != EINTR) {
      return system_error(ErrorCode::kRendezvous, "can't poll", errno);
    }
  }
}

Result<Fd> connect_once(const sockaddr_storage& to, Deadline deadline) {
  Fd fd(socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) {
    return system_error(ErrorCode::kRendezvous, "can't make a socket", errno);
  }
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), address_length(to)) != 0) {
    if (errno != EINPROGRESS) {
      return system_error(ErrorCode::kRendezvous, "can't connect", errno);
    }
    DISTINIT_RETURN_IF_ERROR(poll_for(fd.get(), POLLOUT, deadline));
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) {
      return system_error(ErrorCode::kRendezvous, "can't connect", error);
    }
  }
  // To a free port of the ephemeral range the kernel may connect a socket to itself.
  const auto ends = socket_ends(fd.get());
  if (ends && format_endpoint(ends->local) == format_endpoint(ends->peer)) {
    return system_error(ErrorCode::kRendezvous, "can't connect", ECONNREFUSED);
  }
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

void sleep_for(milliseconds time) {
  timespec left{time.count() / 1000, time.count() % 1000 * 1'000'000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

uint64_t read_u64(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i) {
    value |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  }
  return value;
}

}  // namespace

Result<StoreClient> StoreClient::connect(std::string_view host, int port, Deadline deadline) {
  DISTINIT_ASSIGN_OR_RETURN(const sockaddr_storage to, parse_address(host, port));
  const std::string endpoint = format_endpoint(to);
  while (true) {
    auto fd = connect_once(to, deadline);
    if (fd) {
      StoreClient client(std::move(*fd), endpoint);
      DISTINIT_RETURN_IF_ERROR(
          client.send(Request{Operation::kValidate, {}, {}, kValidateMagic}, deadline));
      return client;
    }
    if (deadline.remaining() <= kRetry) {
      return with_context(fd.error(), concat("store ", endpoint));
    }
    sleep_for(kRetry);
  }
}

Error StoreClient::failed(Error error, std::string_view key) {
  fd_.reset();
  return with_context(std::move(error),
                      concat("store ", endpoint_, ", key '", abbreviate(key), "'"));
}

Status StoreClient::send(const Request& request, Deadline deadline) {
  const std::string_view key = request.keys.empty() ? std::string_view() : request.keys.front();
  if (!fd_.is_open()) {
    return failed(Error{ErrorCode::kRendezvous, "closed after an earlier error", {}, ENOTCONN},
                  key);
  }
  const std::string bytes = encode_request(Dialect::kD3, request).value();
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t count = ::send(fd_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      rest.remove_prefix(static_cast<size_t>(count));
      continue;
    }
    if (errno == EINTR) {
      continue;
    }
    if (errno != EAGAIN) {
      return failed(system_error(ErrorCode::kRendezvous, "can't send", errno), key);
    }
    if (auto ready = poll_for(fd_.get(), POLLOUT, deadline); !ready) {
      return failed(std::move(ready).error(), key);
    }
  }
  return Ok{};
}

Result<std::string> StoreClient::receive(size_t count, Deadline deadline) {
  std::string out;
  char buffer[16384];
  while (out.size() < count) {
    const size_t most = std::min(sizeof buffer, count - out.size());
    const ssize_t received = recv(fd_.get(), buffer, most, 0);
    if (received > 0) {
      out.append(buffer, static_cast<size_t>(received));
    } else if (received == 0) {
      return Error{ErrorCode::kRendezvous, "the store closed the connection", {}, ECONNRESET};
    } else if (errno == EAGAIN) {
      DISTINIT_RETURN_IF_ERROR(poll_for(fd_.get(), POLLIN, deadline));
    } else if (errno != EINTR) {
      return system_error(ErrorCode::kRendezvous, "can't receive", errno);
    }
  }
  return out;
}

Result<uint8_t> StoreClient::receive_u8(Deadline deadline) {
  DISTINIT_ASSIGN_OR_RETURN(const std::string bytes, receive(1, deadline));
  return static_cast<uint8_t>(bytes[0]);
}

Result<uint64_t> StoreClient::receive_u64(Deadline deadline) {
  DISTINIT_ASSIGN_OR_RETURN(const std::string bytes, receive(8, deadline));
  return read_u64(bytes);
}

Result<std::string> StoreClient::receive_text(Deadline deadline) {
  DISTINIT_ASSIGN_OR_RETURN(const uint64_t length, receive_u64(deadline));
  return receive(length, deadline);
}

Status StoreClient::set(std::string_view key, std::string_view value, Deadline deadline) {
  return send(Request{Operation::kSet, {std::string(key)}, {std::string(value)}, 0}, deadline);
}

Result<std::string> StoreClient::get(std::string_view key, Deadline deadline) {
  DISTINIT_RETURN_IF_ERROR(wait({std::string(key)}, deadline));
  DISTINIT_RETURN_IF_ERROR(send(Request{Operation::kGet, {std::string(key)}, {}, 0}, deadline));
  auto value = receive_text(deadline);
  if (!value) {
    return failed(value.error(), key);
  }
  return value;
}

Status StoreClient::wait(const std::vector<std::string>& keys, Deadline deadline) {
  const std::string_view key = keys.empty() ? std::string_view() : keys.front();
  DISTINIT_RETURN_IF_ERROR(send(Request{Operation::kWait, keys, {}, 0}, deadline));
  const auto answer = receive_u8(deadline);
  if (answer && *answer == kReplyReady) {
    return Ok{};
  }
  if (answer) {
    return failed(Error{ErrorCode::kRendezvous, concat("answer ", *answer, " to a wait"), {}, 0},
                  key);
  }
  if (answer.error().sys_errno != ETIMEDOUT) {
    return failed(answer.error(), key);
  }
  return withdraw_wait(keys);
}

// The keys may come between our timeout and the store's reading of the withdrawal: then it answers
// both, in this order.
Status StoreClient::withdraw_wait(const std::vector<std::string>& keys) {
  const std::string_view key = keys.empty() ? std::string_view() : keys.front();
  const Deadline deadline(kWithdraw);
  DISTINIT_RETURN_IF_ERROR(send(Request{Operation::kCancelWait, {}, {}, 0}, deadline));
  bool arrived = false;
  while (true) {
    const auto answer = receive_u8(deadline);
    if (!answer) {
      return failed(answer.error(), key);
    }
    if (*answer == kReplyWaitCanceled) {
      break;
    }
    arrived = true;
  }
  if (arrived) {
    return Ok{};
  }
  return Error{ErrorCode::kRendezvous,
               concat("store ", endpoint_, ", key '", abbreviate(key), "': not set in time"),
               {},
               ETIMEDOUT};
}

Result<std::vector<std::string>> StoreClient::multi_get(const std::vector<std::string>& keys,
                                                        Deadline deadline) {
  DISTINIT_RETURN_IF_ERROR(wait(keys, deadline));
  DISTINIT_RETURN_IF_ERROR(send(Request{Operation::kMultiGet, keys, {}, 0}, deadline));
  std::vector<std::string> values;
  for (const std::string& key : keys) {
    auto value = receive_text(deadline);
    if (!value) {
      return failed(value.error(), key);
    }
    values.push_back(std::move(*value));
  }
  return values;
}

Result<int64_t> StoreClient::add(std::string_view key, int64_t delta, Deadline deadline) {
  DISTINIT_RETURN_IF_ERROR(send(Request{Operation::kAdd, {std::string(key)}, {}, delta}, deadline));
  const auto sum = receive_u64(deadline);
  if (!sum) {
    return failed(sum.error(), key);
  }
  return static_cast<int64_t>(*sum);
}

Result<bool> StoreClient::check(const std::vector<std::string>& keys, Deadline deadline) {
  DISTINIT_RETURN_IF_ERROR(send(Request{Operation::kCheck, keys, {}, 0}, deadline));
  const auto answer = receive_u8(deadline);
  if (!answer) {
    return failed(answer.error(), keys.empty() ? std::string_view() : keys.front());
  }
  return *answer == kReplyReady;
}

Result<bool> StoreClient::remove(std::string_view key, Deadline deadline) {
  DISTINIT_RETURN_IF_ERROR(send(Request{Operation::kDelete, {std::string(key)}, {}, 0}, deadline));
  const auto count = receive_u64(deadline);
  if (!count) {
    return failed(count.error(), key);
  }
  return *count > 0;
}

Result<std::string> StoreClient::compare_set(std::string_view key, std::string_view expected,
                                             std::string_view desired, Deadline deadline) {
  DISTINIT_RETURN_IF_ERROR(send(Request{Operation::kCompareSet,
                                        {std::string(key)},
                                        {std::string(expected), std::string(desired)},
                                        0},
                                deadline));
  auto value = receive_text(deadline);
  if (!value) {
    return failed(value.error(), key);
  }
  return value;
}

Result<int64_t> StoreClient::num_keys(Deadline deadline) {
  DISTINIT_RETURN_IF_ERROR(send(Request{Operation::kCountKeys, {}, {}, 0}, deadline));
  const auto count = receive_u64(deadline);
  if (!count) {
    return failed(count.error(), "");
  }
  return static_cast<int64_t>(*count);
}

}  // namespace distinit
