// SPDX-License-Identifier: Apache-2.0
#include "lib/store/output.h"

#include <errno.h>
#include <sys/socket.h>

namespace distinit {

namespace {

// A buffer that once held a large value is given back.
constexpr size_t kKeepCapacity = 65'536;

}  // namespace

bool Output::flush(int fd) {
  while (pending() > 0) {
    const ssize_t count = send(fd, bytes_.data() + sent_, pending(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0 && errno == EAGAIN) {
      // What is sent already is dropped now and then, so that a slow reader costs no more than what
      // it has not read.
      if (sent_ >= bytes_.size() / 2) {
        bytes_.erase(0, sent_);
        sent_ = 0;
      }
      return true;
    }
    if (count < 0) {
      bytes_.clear();
      sent_ = 0;
      return false;
    }
    sent_ += static_cast<size_t>(count);
  }
  bytes_.clear();
  sent_ = 0;
  if (bytes_.capacity() > kKeepCapacity) {
    bytes_.shrink_to_fit();
  }
  return true;
}

}  // namespace distinit
