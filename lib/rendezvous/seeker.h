// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the root among addresses, ports and strangers: whoever proves the step's secret is it.

#include "lib/base/event_loop.h"
#include "lib/base/frame_link.h"
#include "lib/base/host_address.h"
#include "lib/rendezvous/handshake.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace distinit {

/// Tries every host with every port, again and again, until one proves the key or it is destroyed.
/// A refused port costs nothing, a silent or foreign server is left behind after a moment and does
/// not stop the others from being tried. Give up by destroying it: the deadline is the owner's.
class Seeker {
 public:
  /// `on_found` is called once, with an authenticated link whose callbacks the receiver must
  /// rebind, and the address that was reached.
  using OnFound = std::function<void(std::shared_ptr<FrameLink> link, SocketAddress address)>;

  Seeker(EventLoop& loop, const StepKey& key, std::vector<int> ports, OnFound on_found);
  ~Seeker();
  Seeker(const Seeker&) = delete;
  Seeker& operator=(const Seeker&) = delete;

  /// One more host to try from now on; the port of `host` is ignored, a host known already changes
  /// nothing.
  void add_host(const SocketAddress& host);

  /// "10.0.0.7 ports 21044,20011: connection refused": what was tried and how the last try ended.
  std::string describe() const;

 private:
  struct Attempt;

  void start_round();
  void start_next();
  void start_attempt(const SocketAddress& address);
  void on_connected(const std::shared_ptr<Attempt>& attempt);
  void on_proof(const std::shared_ptr<Attempt>& attempt, std::string_view message);
  void end_attempt(const std::shared_ptr<Attempt>& attempt, std::string why);

  EventLoop& loop_;
  StepKey key_;
  std::vector<int> ports_;
  OnFound on_found_;
  std::vector<SocketAddress> hosts_;
  std::map<std::string, std::shared_ptr<Attempt>> attempts_;  // by address text, those under way
  std::vector<SocketAddress> round_;  // still to start in this round, last first
  size_t rounds_ = 0;
  std::string last_;
  EventLoop::TimerId timer_ = 0;
};

}  // namespace distinit
