// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rendezvous on every node but rank 0's: find the root, join, wait for its word.

#include "lib/rendezvous/print_once.h"
#include "lib/rendezvous/rendezvous.h"
#include "lib/rendezvous/seeker.h"

#include <map>
#include <memory>

namespace distinit {

class Member : public Rendezvous {
 public:
  /// Starts at once. `loop` must outlive it. With `crashed`, this is the guard of an agent that is
  /// gone: instead of joining it tells the root why, prints that itself when there is no root to be
  /// found, and calls on_abort either way.
  Member(EventLoop& loop, const Log& log, const StepKey& key, RendezvousSetup setup,
         RendezvousEvents events, std::optional<Error> crashed = {});
  ~Member() override;

  void node_found(const NodeReport& report) override;
  void ranks_present(const std::vector<int>& ranks) override;
  void fail(const Error& error) override;
  void report(const Error& error, std::function<void()> printed) override;
  void ending() override {}
  void done() override;
  bool is_flushed() const override;

 private:
  void seek();
  void seek_by_name(const std::string& name);
  void seek_by_template(const std::string& name);
  void add_or_look_up(const std::string& host);
  void look_up(const std::string& host);
  void on_found(const std::shared_ptr<FrameLink>& link, const SocketAddress& address);
  void on_message(const std::string& message);
  void on_lost(int sys_errno);
  void on_reminder();
  void probe(const std::string& host);
  void answer_vouch(const VouchQuestion& question);
  void give_up(const Error& error);
  void abort(int exit_status);
  bool speaks_when_root_is_away() const;

  EventLoop& loop_;
  const Log& log_;
  StepKey key_;
  RendezvousSetup setup_;
  RendezvousEvents events_;
  std::unique_ptr<Seeker> seeker_;
  std::unique_ptr<Seeker> prober_;
  std::shared_ptr<FrameLink> link_;
  SocketAddress root_;
  std::optional<NodeReport> found_;
  std::vector<int> present_;
  std::optional<Error> crashed_;
  std::optional<Error> failed_;
  std::map<uint64_t, std::function<void()>> reports_;
  PrintOnce printed_;
  bool released_ = false;
  bool root_is_ending_ = false;
  bool over_ = false;
  milliseconds waited_{0};
  EventLoop::TimerId reminder_ = 0;
  EventLoop::TimerId deadline_ = 0;
  EventLoop::TimerId grace_ = 0;
  EventLoop::TimerId probe_deadline_ = 0;
  /// For callbacks that may come after this object: a name lookup in another thread.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace distinit
