// SPDX-License-Identifier: Apache-2.0
#include "lib/base/fd.h"

#include "lib/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

namespace distinit {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

Fd::~Fd() {
  reset();
}

void Fd::reset() {
  if (fd_ >= 0) {
    const int saved_errno = errno;
    ::close(fd_);
    errno = saved_errno;
    fd_ = -1;
  }
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return system_error(ErrorCode::kInternal, "can't make a pipe", errno);
  }
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

Status set_nonblocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
    return system_error(ErrorCode::kInternal, "can't make a descriptor non-blocking", errno);
  }
  return Ok{};
}

Status set_close_on_exec(int fd, bool on) {
  const int flags = fcntl(fd, F_GETFD);
  if (flags < 0 || fcntl(fd, F_SETFD, on ? flags | FD_CLOEXEC : flags & ~FD_CLOEXEC) < 0) {
    return system_error(ErrorCode::kInternal, "can't change a descriptor's close-on-exec flag",
                        errno);
  }
  return Ok{};
}

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return system_error(ErrorCode::kInternal, "can't write", errno);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return Ok{};
}

Result<std::string> read_all(int fd, size_t limit) {
  std::string out;
  char buffer[16384];
  while (true) {
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return system_error(ErrorCode::kInternal, "can't read", errno);
    }
    if (count == 0) {
      return out;
    }
    if (out.size() + static_cast<size_t>(count) > limit) {
      return Error{ErrorCode::kInternal, concat("more than ", limit, " bytes to read"), {}, 0};
    }
    out.append(buffer, static_cast<size_t>(count));
  }
}

Result<std::string> read_file(const std::string& path, size_t limit) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) {
    return system_error(ErrorCode::kInternal, path, errno);
  }
  auto content = read_all(fd.get(), limit);
  if (!content) {
    return with_context(content.error(), path);
  }
  return content;
}

}  // namespace distinit
