// SPDX-License-Identifier: Apache-2.0
#pragma once
// The stage's end of its socket to the agent: blocking, one message at a time, always with a limit.

#include "lib/base/deadline.h"
#include "lib/base/fd.h"
#include "lib/base/frame.h"
#include "lib/spec/protocol.h"

#include <optional>
#include <string>

namespace distinit {

class AgentSocket {
 public:
  /// Takes the socket and makes it close-on-exec.
  explicit AgentSocket(Fd fd);

  /// The next message; nullopt when the agent has closed, the socket failed, or `longest` has
  /// passed.
  std::optional<std::string> receive(milliseconds longest);
  /// False when it could not be written.
  bool send(std::string_view frame);
  /// Sends a report and waits (2 s at most) until the agent says that it has been printed.
  bool report(const Report& report);

  /// The last receive() that gave nothing waited in vain, as opposed to an agent that is gone.
  bool timed_out() const { return timed_out_; }
  /// It did not wait at all: what has been received is no message.
  bool is_malformed() const { return malformed_; }
  int fd() const { return fd_.get(); }

 private:
  Fd fd_;
  FrameReader reader_;
  bool timed_out_ = false;
  bool malformed_ = false;
};

}  // namespace distinit
