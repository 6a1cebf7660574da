// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads the node's topology in a thread of its own, while the agents meet: on large nodes, or with
// a sick PCI device, that takes long.

#include "lib/base/event_loop.h"
#include "lib/topo/load_machine.h"

#include <functional>
#include <memory>
#include <string>

namespace distinit {

class TopologyLoader {
 public:
  using Done = std::function<void(Result<Discovery>)>;

  /// `file`: an XML export that stands in for this machine; empty for the machine itself. `done` is
  /// called from the loop, once, after `longest` at the latest (kTopology error). A thread that is
  /// stuck in the kernel by then is left behind, and ends with the process.
  TopologyLoader(EventLoop& loop, std::string file, milliseconds longest, Done done);
  ~TopologyLoader();
  Status start();

 private:
  struct Shared;

  void finish(Result<Discovery> result);

  EventLoop& loop_;
  std::string file_;
  milliseconds longest_;
  Done done_;
  std::shared_ptr<Shared> shared_;
  Fd ready_;
  EventLoop::TimerId deadline_ = 0;
};

}  // namespace distinit
