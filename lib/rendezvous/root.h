// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rendezvous on rank 0's node: binds the store, takes the other agents in, decides MASTER_ADDR,
// releases the step, and keeps the store until the last node is done.

#include "lib/base/frame_link.h"
#include "lib/base/host_address.h"
#include "lib/rendezvous/address_choice.h"
#include "lib/rendezvous/print_once.h"
#include "lib/rendezvous/rendezvous.h"
#include "lib/rendezvous/roster.h"
#include "lib/store/server.h"

#include <map>
#include <memory>

namespace distinit {

class Root : public Rendezvous {
 public:
  /// Binds and listens before it returns; kRendezvous error naming node and ports when none is
  /// free. `loop` and `log` must outlive it.
  static Result<std::unique_ptr<Root>> create(EventLoop& loop, const Log& log, const StepKey& key,
                                              RendezvousSetup setup, RendezvousEvents events);
  ~Root() override;

  void node_found(const NodeReport& report) override;
  void ranks_present(const std::vector<int>& ranks) override;
  void fail(const Error& error) override;
  void report(const Error& error, std::function<void()> printed) override;
  void ending() override;
  void done() override;
  bool is_flushed() const override;

  /// The port that is held for rank 0's program (torch.store=rank0) is let go: it has started.
  void drop_held_port() { held_port_.reset(); }

 private:
  /// A connection of another agent, before and after it has proved the secret.
  struct Peer {
    std::shared_ptr<FrameLink> link;
    std::string member_nonce;
    std::string root_nonce;
    bool proved = false;
    int group_rank = -1;
    bool done = false;
    std::optional<bool> probed;
    EventLoop::TimerId timer = 0;
  };

  Root(EventLoop& loop, const Log& log, const StepKey& key, RendezvousSetup setup,
       RendezvousEvents events);
  Status bind();
  Status bind_store(const std::vector<int>& ports);
  Status hold_master_port();
  Status serve();
  void on_stranger(Fd fd, std::string received);
  void on_message(const std::shared_ptr<Peer>& peer, const std::string& message);
  void on_handshake(const std::shared_ptr<Peer>& peer, std::string_view message);
  void on_join(const std::shared_ptr<Peer>& peer, const std::string& message);
  void on_failed(const std::string& message);
  void on_lost(const std::shared_ptr<Peer>& peer, int sys_errno);
  void admit(const SocketAddress& peer, const SocketAddress& local,
             std::function<void(bool)> decide);
  void ask_members(const SocketAddress& peer, const SocketAddress& local,
                   std::function<void(bool)> decide);
  void on_vouched(const std::string& message);
  void refuse(const SocketAddress& peer, std::string_view why);
  void check_complete();
  void choose_address();
  void probe_next();
  void on_probed();
  void release(const std::string& master_addr);
  void report_layout() const;
  void report_phases() const;
  void on_reminder();
  void abort_own();
  void broadcast(std::string_view frames);
  void drop(const std::shared_ptr<Peer>& peer);
  void check_all_done();

  EventLoop& loop_;
  const Log& log_;
  StepKey key_;
  RendezvousSetup setup_;
  RendezvousEvents events_;
  Roster roster_;
  std::unique_ptr<StoreServer> store_;
  int store_port_ = 0;
  int master_port_ = 0;
  Fd held_port_;
  std::map<FrameLink*, std::shared_ptr<Peer>> peers_;
  /// A question about one connection, open at one or more agents.
  struct Vouch {
    std::function<void(bool)> decide;
    size_t unanswered = 0;
    SocketAddress peer;
    std::string why;
    EventLoop::TimerId timer = 0;
  };
  std::map<uint64_t, Vouch> vouches_;
  uint64_t next_vouch_ = 1;
  int refusals_ = 0;
  std::vector<std::string> candidates_;  // for MASTER_ADDR, best first
  std::string candidate_;                // being probed
  std::map<int, NodeReport> reports_;    // by group rank
  PrintOnce printed_;
  std::optional<int> abort_status_;  // decided, and not yet told to our own tasks
  bool choosing_ = false;
  bool released_ = false;
  bool over_ = false;
  bool has_lost_node_ = false;  // before the release; fail() follows
  bool deadline_passed_ = false;
  bool self_done_ = false;
  Clock::time_point created_ = Clock::now();
  Clock::time_point bound_;
  Clock::time_point met_;
  milliseconds waited_{0};
  EventLoop::TimerId reminder_ = 0;
  EventLoop::TimerId deadline_ = 0;
  EventLoop::TimerId probe_deadline_ = 0;
  EventLoop::TimerId abort_timer_ = 0;
  /// For callbacks that may come after this object.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace distinit
