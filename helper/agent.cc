// SPDX-License-Identifier: Apache-2.0
#include "helper/agent.h"

#include "helper/agent_launch.h"
#include "lib/base/exit_status.h"
#include "lib/base/text.h"
#include "lib/rendezvous/member.h"

#include <algorithm>
#include <utility>

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace distinit {

namespace {

/// How long the last messages may take to leave, and failed tasks to end.
constexpr milliseconds kFlushLimit{1000};
constexpr milliseconds kFailedTasksLimit{5000};
/// A stage waits a little longer than any deadline of ours, in case we are stopped.
constexpr milliseconds kStageMargin{30'000};
/// After a signal that ends steps, what goes wrong is the end itself and is not told.
constexpr milliseconds kQuietAfterSignal{60'000};
/// Large nodes need 0.1 s; three seconds have been seen under load (openpmix issue 2036).
constexpr milliseconds kTopologyLimit{15'000};

}  // namespace

Agent::Agent(EventLoop& loop, Log& log, const StepKey& key, const AgentSetup& setup,
             GuardBoard& board, Fd listening)
    : loop_(loop),
      log_(log),
      key_(key),
      setup_(setup),
      board_(board),
      tasks_(
          loop, std::move(listening), setup.rendezvous.facts.node_ranks,
          milliseconds(setup.rendezvous.options.timeout_s * 1000LL) + kStageMargin,
          TaskTable::Events{
              [this](const std::vector<int>& ranks) { on_present(ranks); },
              [this](int rank, const std::string& why) { on_lost(rank, why); },
              [this](int rank, const Report& report) {
                const Error error{ErrorCode::kNotFound, concat(who(rank), ": ", report.what),
                                  report.hint, 0};
                rendezvous_->report(error, [this, rank] { tasks_.reported(rank); });
              },
              [this](int rank, int wait_status) { on_exited(rank, wait_status); },
              [this](int rank) { on_started(rank); },
              // A pid that has ended may soon be another process's: the guard must not kill that.
              [this] { board_.set_pids(tasks_.pids()); },
              [this] { on_all_ended(); },
          }) {}

int Agent::run() {
  if (const auto started = start(); !started) {
    log_.error(started.error());
    on_abort(exit_status(started.error().code));
  }
  loop_.run();
  return exit_status_;
}

Status Agent::start() {
  DISTINIT_RETURN_IF_ERROR(tasks_.start());
  // All are blocked, see become_guard; these are looked at.
  sigset_t ending;
  sigemptyset(&ending);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    sigaddset(&ending, number);
  }
  signals_ = Fd(signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
  if (signals_.is_open()) {
    DISTINIT_RETURN_IF_ERROR(loop_.add(signals_.get(), EPOLLIN, [this](uint32_t) { on_signal(); }));
  }
  DISTINIT_RETURN_IF_ERROR(read_topology());
  RendezvousEvents events{
      [this](const Release& release) { on_release(release); },
      [this](int status) { on_abort(status); },
      [this] { on_all_done(); },
  };
  const RendezvousSetup& setup = setup_.rendezvous;
  const auto& ranks = setup.facts.node_ranks;
  if (std::find(ranks.begin(), ranks.end(), 0) != ranks.end()) {
    DISTINIT_ASSIGN_OR_RETURN(auto root, Root::create(loop_, log_, key_, setup, std::move(events)));
    root_ = root.get();
    rendezvous_ = std::move(root);
  } else {
    rendezvous_ = std::make_unique<Member>(loop_, log_, key_, setup, std::move(events));
  }
  return Ok{};
}

std::string Agent::who(int rank) const {
  return concat("rank ", rank, " on ", setup_.rendezvous.facts.node_name);
}

Status Agent::read_topology() {
  if (!wants_placement(setup_)) {
    return Ok{};
  }
  waits_for_topology_ = true;
  prepare_for_discovery();
  // Short of the step's own deadline, which would name ranks that are not missing.
  const milliseconds longest =
      std::min(kTopologyLimit, milliseconds(setup_.rendezvous.options.timeout_s * 500LL));
  topology_ = std::make_unique<TopologyLoader>(
      loop_, topology_file(setup_), longest,
      [this](Result<Discovery> discovery) { on_topology(std::move(discovery)); });
  return topology_->start();
}

void Agent::on_topology(Result<Discovery> discovery) {
  waits_for_topology_ = false;
  if (!rendezvous_ || aborted_) {
    return;
  }
  const std::string& node = setup_.rendezvous.facts.node_name;
  if (discovery) {
    placement_ = NodePlacement{std::move(discovery->machine), {}, std::move(discovery->findings)};
  } else if (topology_file(setup_).empty()) {
    // The job works without, only slower.
    const Error& error = discovery.error();
    rendezvous_->node_found(NodeReport{
        node, {}, {Finding{concat(error.what, ": nothing is bound"), error.hint}}, false});
  } else {
    rendezvous_->fail(with_context(discovery.error(), node));
    return;
  }
  tell_present();
}

void Agent::place_tasks() {
  placement_->plan = plan_node(placement_->machine,
                               placement_input(setup_, tasks_.hellos(), tasks_.pids_by_rank()));
  rendezvous_->node_found(report_node(setup_, *placement_));
}

void Agent::on_present(const std::vector<int>& ranks) {
  board_.set_pids(tasks_.pids());
  present_ = ranks;
  tell_present();
}

/// The last rank is present when it can be placed as well.
void Agent::tell_present() {
  const bool all = present_.size() == setup_.rendezvous.facts.node_ranks.size();
  if (!rendezvous_ || present_.empty() || (all && waits_for_topology_)) {
    return;
  }
  if (all && placement_) {
    place_tasks();
  }
  rendezvous_->ranks_present(present_);
}

void Agent::on_lost(int rank, const std::string& why) {
  if (!aborted_) {
    rendezvous_->fail(
        Error{ErrorCode::kRendezvous, concat(who(rank), ": ", why),
              "look for its own message above: a TaskProlog, a container's hook, a signal?", 0});
  }
}

void Agent::on_release(const Release& release) {
  released_ = true;
  board_.set_released();
  report_placement();
  for (const auto& [rank, hello] : tasks_.hellos()) {
    const Launch launch =
        prepare_launch(setup_, hello, release, placement_ ? &*placement_ : nullptr);
    for (const Finding& finding : launch.findings) {
      log_.warn(finding.what, finding.hint);
    }
    if (rank == 0) {
      log_.info(concat("rank 0 gets from distinit: ", join(launch.ours, " ")));
      if (!launch.kept.empty()) {
        log_.info(concat("rank 0 keeps what was set before: ", join(launch.kept, " ")));
      }
    }
    tasks_.go(rank, launch.go);
  }
}

void Agent::report_placement() const {
  if (!placement_ || !log_.is_on(LogLevel::kInfo)) {
    return;
  }
  const std::string& node = setup_.rendezvous.facts.node_name;
  log_.info(concat(node, ": ", describe_machine(placement_->machine)));
  for (const auto& [rank, hello] : tasks_.hellos()) {
    log_.info(concat(node, ": ", describe_task(*placement_, hello.local_rank, rank)));
  }
  for (const Finding& remark : placement_->plan.remarks) {
    log_.info(concat(node, ": ", remark.what, remark.hint.empty() ? "" : "; ", remark.hint));
  }
}

void Agent::on_started(int rank) {
  if (rank == 0 && root_ != nullptr) {
    root_->drop_held_port();
  }
}

void Agent::on_abort(int status) {
  if (std::exchange(aborted_, true)) {
    return;
  }
  exit_status_ = status;
  // Whatever ends from here on has been explained.
  board_.set_finished();
  if (released_) {
    tasks_.kill_all();
  } else {
    tasks_.fail_all(status);
  }
  // Tasks that connect now are told as well; then nobody is left to wait for.
  loop_.add_timer(kFailedTasksLimit, [this, status] { end_soon(status); });
}

void Agent::on_exited(int rank, int wait_status) {
  rendezvous_->ending();
  const bool succeeded = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
  if (!succeeded || everybody_done_) {
    tasks_.release(rank);
    return;
  }
  staying_rank_ = rank;
  loop_.add_timer(milliseconds(setup_.rendezvous.options.linger_s * 1000LL), [this, rank] {
    log_.info(concat("the store ends ", setup_.rendezvous.options.linger_s,
                     " s after rank 0's program, though other nodes are not done"));
    tasks_.release(rank);
  });
}

void Agent::on_all_done() {
  everybody_done_ = true;
  if (staying_rank_ >= 0) {
    tasks_.release(staying_rank_);
  }
}

void Agent::on_all_ended() {
  if (rendezvous_ && !aborted_) {
    rendezvous_->ending();
    rendezvous_->done();
  }
  end_soon(exit_status_);
}

void Agent::on_signal() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
  }
  log_.mute(kQuietAfterSignal);
  if (!released_) {
    on_abort(128 + static_cast<int>(info.ssi_signo));
  }
}

void Agent::end_soon(int status) {
  exit_status_ = status;
  if (std::exchange(ending_, true)) {
    return;
  }
  board_.set_finished();
  flush_deadline_ = Deadline(kFlushLimit);
  finish_when_flushed();
}

void Agent::finish_when_flushed() {
  if (!rendezvous_ || rendezvous_->is_flushed() || flush_deadline_.has_passed()) {
    loop_.stop();
    return;
  }
  loop_.add_timer(milliseconds(5), [this] { finish_when_flushed(); });
}

}  // namespace distinit
