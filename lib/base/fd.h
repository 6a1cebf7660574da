// SPDX-License-Identifier: Apache-2.0
#pragma once
// Descriptors that close themselves, and the few system calls that everything needs with EINTR
// handled.

#include "lib/base/result.h"

#include <string>
#include <string_view>
#include <utility>

#include <stddef.h>

namespace distinit {

/// Owns one descriptor, or none (-1).
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd();

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  /// Gives the descriptor away; the caller closes it.
  int release() { return std::exchange(fd_, -1); }
  /// Closes now. A failing close(2) is ignored: the descriptor is gone either way on Linux.
  void reset();

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read;
  Fd write;
};

/// A pipe, both ends close-on-exec.
Result<Pipe> make_pipe();

Status set_nonblocking(int fd);
Status set_close_on_exec(int fd, bool on);

/// Writes all bytes to a blocking descriptor.
Status write_all(int fd, std::string_view bytes);

/// Reads until end of file from a blocking descriptor, at most `limit` bytes (more is an error).
Result<std::string> read_all(int fd, size_t limit);

/// The content of a file, at most `limit` bytes (more is an error); the error names the path.
Result<std::string> read_file(const std::string& path, size_t limit);

}  // namespace distinit
