// SPDX-License-Identifier: Apache-2.0
#pragma once
// The socket between a node's tasks and its agent. It listens before any task is forked, so a task
// can connect before the agent has been started; its name is random and in no file system, so it
// works from any root directory and leaves nothing behind.

#include "lib/base/fd.h"

namespace distinit {

struct NodeSocket {
  Fd listener;       ///< close-on-exec
  std::string name;  ///< in the abstract namespace, without the leading zero byte
};

/// A listening stream socket with a fresh random name.
Result<NodeSocket> open_node_socket();
/// The same with a given name (at most 100 bytes); fails with EADDRINUSE when somebody has it.
Result<NodeSocket> open_node_socket(std::string name);

/// A connected socket, non-blocking and close-on-exec. Never waits: the connection stands as soon
/// as the kernel has queued it. Fails where `socket.listener` is not the socket that was opened.
Result<Fd> connect_node_socket(const NodeSocket& socket);

/// The same by name alone, for a process that did not inherit the listener. Fails when nobody
/// listens there, or when the listener is another user's: an abstract name has no permissions.
Result<Fd> connect_node_socket(const std::string& name);

}  // namespace distinit
