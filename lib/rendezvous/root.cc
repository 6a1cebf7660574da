// SPDX-License-Identifier: Apache-2.0
#include "lib/rendezvous/root.h"

#include "lib/base/exit_status.h"
#include "lib/base/text.h"
#include "lib/rendezvous/held_port.h"
#include "lib/rendezvous/ports.h"
#include "lib/store/listen.h"

#include <algorithm>
#include <utility>

namespace distinit {

namespace {

/// After a failure, how long members that have not come yet are waited for, to be told.
constexpr milliseconds kLateMembers{5000};
/// How long our own task that can't run its program waits for the others that can't.
constexpr milliseconds kOtherReports{300};

Error ports_taken(const RendezvousSetup& setup, const std::vector<int>& ports, const Error& last) {
  const std::string& node = setup.facts.node_name;
  if (ports.size() == 1) {
    return Error{
        last.code, concat(node, ": port ", ports[0], " can't be used for the store: ", last.what),
        fixed_port(setup)
            ? "choose another with port=N (or MASTER_PORT), or leave it out and one is found"
            : "free it, or name another with port=N",
        last.sys_errno};
  }
  std::vector<std::string> texts;
  for (const int port : ports) {
    texts.push_back(concat(port));
  }
  return Error{
      last.code,
      concat(node, ": no port is free for the store, tried ", join(texts, ","), ": ", last.what),
      "see `ss -ltnp` there; port=N names another, ports=A-B another range", last.sys_errno};
}

}  // namespace

Root::Root(EventLoop& loop, const Log& log, const StepKey& key, RendezvousSetup setup,
           RendezvousEvents events)
    : loop_(loop),
      log_(log),
      key_(key),
      setup_(std::move(setup)),
      events_(std::move(events)),
      roster_(setup_.facts.node_count, setup_.facts.world_size, setup_.facts.nodes) {}

Root::~Root() {
  *alive_ = false;
  for (const EventLoop::TimerId timer : {reminder_, deadline_, probe_deadline_, abort_timer_}) {
    loop_.cancel_timer(timer);
  }
  for (const auto& [link, peer] : peers_) {
    loop_.cancel_timer(peer->timer);
  }
  for (const auto& [id, vouch] : vouches_) {
    loop_.cancel_timer(vouch.timer);
  }
}

Result<std::unique_ptr<Root>> Root::create(EventLoop& loop, const Log& log, const StepKey& key,
                                           RendezvousSetup setup, RendezvousEvents events) {
  std::unique_ptr<Root> root(new Root(loop, log, key, std::move(setup), std::move(events)));
  DISTINIT_RETURN_IF_ERROR(root->bind());
  const StepFacts& facts = root->setup_.facts;
  DISTINIT_RETURN_IF_ERROR(root->roster_.join(Join{facts.node_name,
                                                   facts.group_rank,
                                                   facts.node_ranks,
                                                   {},
                                                   format_spec(root->setup_.spec),
                                                   root->setup_.version}));
  Root* self = root.get();
  root->waited_ = next_reminder(milliseconds(0));
  root->reminder_ = loop.add_timer(root->waited_, [self] { self->on_reminder(); });
  const int timeout_s = root->setup_.options.timeout_s;
  root->deadline_ = loop.add_timer(milliseconds(timeout_s * 1000LL), [self, timeout_s] {
    self->deadline_passed_ = true;
    const std::string missing = self->roster_.missing();
    if (missing.empty()) {
      self->fail(Error{
          ErrorCode::kRendezvous,
          concat("after ", timeout_s, " s it is still not known whether every node", " can reach ",
                 self->setup_.facts.node_name, " as ",
                 self->candidate_.empty() ? self->setup_.user_addr.value_or("") : self->candidate_),
          "name another network with interface=NAME or address.template=", 0});
      return;
    }
    self->fail(Error{ErrorCode::kRendezvous,
                     concat("after ", timeout_s, " s still missing: ", missing),
                     "look for that node's own message, its state (`sinfo -N`) and its slurmd log; "
                     "`timeout=SECONDS` waits longer",
                     0});
  });
  return root;
}

Status Root::bind() {
  const std::vector<int> ports = store_ports(setup_);
  Status bound = bind_store(ports);
  if (bound && setup_.options.torch_store == TorchStore::kRank0) {
    bound = hold_master_port();
  }
  if (bound) {
    return serve();
  }
  // Somewhere else, to tell the members, who would wait for the deadline.
  if (!store_ && !bind_store(meeting_ports(setup_))) {
    return bound;
  }
  DISTINIT_RETURN_IF_ERROR(serve());
  loop_.add_timer(milliseconds(0), [this, alive = alive_, error = bound.error()] {
    if (*alive) {
      fail(error);
    }
  });
  return Ok{};
}

Status Root::bind_store(const std::vector<int>& ports) {
  const bool alone = setup_.facts.node_count == 1 &&
                     setup_.options.address == AddressForm::kNumeric && !setup_.user_addr;
  std::optional<Error> last;
  for (const int port : ports) {
    auto listening = listen_on(alone ? "127.0.0.1" : "", port);
    if (listening) {
      store_ = std::make_unique<StoreServer>(loop_, std::move(*listening));
      store_port_ = port;
      master_port_ = port;
      return Ok{};
    }
    last = listening.error();
  }
  return ports_taken(setup_, ports, *last);
}

Status Root::hold_master_port() {
  const auto ports = port_candidates(setup_.facts, setup_.options, fixed_port(setup_));
  Error last{ErrorCode::kRendezvous, "it is this step's own store's", {}, 0};
  for (const int port : ports) {
    if (port == store_port_) {
      continue;
    }
    auto held = hold_port(port);
    if (held) {
      held_port_ = std::move(*held);
      master_port_ = port;
      return Ok{};
    }
    last = held.error();
  }
  return ports_taken(setup_, ports, last);
}

Status Root::serve() {
  store_->set_foreign_protocol(std::string(kAgentPreamble),
                               [this](Fd fd, std::string received, const sockaddr_storage&) {
                                 on_stranger(std::move(fd), std::move(received));
                               });
  store_->set_admission([this](const ConnectionInfo& connection, std::function<void(bool)> decide) {
    admit(SocketAddress(connection.peer), SocketAddress(connection.local), std::move(decide));
  });
  DISTINIT_RETURN_IF_ERROR(store_->start());
  bound_ = Clock::now();
  return Ok{};
}

void Root::node_found(const NodeReport& report) {
  reports_[setup_.facts.group_rank] = report;
}

void Root::ranks_present(const std::vector<int>& ranks) {
  roster_.present(setup_.facts.group_rank, ranks);
  check_complete();
}

void Root::check_complete() {
  if (choosing_ || over_ || has_lost_node_ || !roster_.is_complete()) {
    return;
  }
  choosing_ = true;
  if (setup_.facts.node_count == 1) {
    met_ = Clock::now();
  }
  if (const auto fits = check_layout(roster_.layout(), setup_.facts.world_size); !fits) {
    fail(fits.error());
    return;
  }
  choose_address();
}

void Root::release(const std::string& master_addr) {
  if (over_ || has_lost_node_) {
    return;
  }
  loop_.cancel_timer(deadline_);
  loop_.cancel_timer(reminder_);
  released_ = true;
  const Release release{master_addr, master_port_, master_addr, store_port_};
  broadcast(encode(release));
  report_layout();
  events_.on_release(release);
  report_phases();
}

void Root::report_layout() const {
  for (const Finding& finding : check_locality(setup_.mesh, roster_.layout())) {
    log_.warn(finding.what, finding.hint);
  }
  for (const Finding& finding : merge_reports(reports_)) {
    log_.warn(finding.what, finding.hint);
  }
}

void Root::report_phases() const {
  if (!log_.is_on(LogLevel::kInfo)) {
    return;
  }
  const auto since = [](Clock::time_point from, Clock::time_point to) {
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(to - from).count();
    return concat(us / 1000, '.', us / 100 % 10, " ms");
  };
  std::string launch = "unknown";
  if (setup_.start_time_ns > 0) {
    // srun's clock and this node's may differ; CLOCK_REALTIME is all they share.
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto up =
        std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() -
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - created_).count();
    launch = concat(std::max<int64_t>(0, up - setup_.start_time_ns) / 1000000, " ms");
  }
  log_.info(concat("launch ", launch, ", store up ", since(created_, bound_), ", agents met ",
                   since(bound_, met_), ", ranks released ", since(met_, Clock::now())));
}

void Root::fail(const Error& error) {
  if (std::exchange(over_, true)) {
    return;
  }
  loop_.cancel_timer(deadline_);
  loop_.cancel_timer(reminder_);
  log_.error(error);
  abort_status_ = exit_status(error.code);
  broadcast(encode(AgentMessage::kAbort, static_cast<uint32_t>(*abort_status_)));
  // Slurm ends us with our own tasks: first the members that are still on their way must be told.
  const bool waits = !roster_.has_all_nodes() && setup_.facts.node_count > 1 && !deadline_passed_;
  abort_timer_ = loop_.add_timer(waits ? kLateMembers : milliseconds(0), [this] { abort_own(); });
}

void Root::abort_own() {
  loop_.cancel_timer(abort_timer_);
  if (const auto status = std::exchange(abort_status_, std::nullopt)) {
    events_.on_abort(*status);
  }
}

void Root::report(const Error& error, std::function<void()> printed) {
  printed_.print(log_, error);
  // The other nodes say the same in a moment; once our tasks have ended nobody is here to hear it.
  loop_.add_timer(setup_.facts.node_count > 1 ? kOtherReports : milliseconds(0),
                  std::move(printed));
}

void Root::on_reminder() {
  if (const std::string missing = roster_.missing(); !missing.empty()) {
    log_.warn(concat("waiting since ", waited_.count() / 1000, " s for ", missing));
  }
  const milliseconds next = next_reminder(waited_);
  reminder_ = loop_.add_timer(next - waited_, [this] { on_reminder(); });
  waited_ = next;
}

void Root::ending() {
  broadcast(encode(AgentMessage::kEnding));
}

void Root::done() {
  self_done_ = true;
  check_all_done();
}

void Root::check_all_done() {
  if (!released_) {
    return;
  }
  const bool others = std::any_of(peers_.begin(), peers_.end(), [](const auto& entry) {
    return entry.second->group_rank >= 0 && !entry.second->done;
  });
  if (!others) {
    events_.on_all_done();
  }
}

bool Root::is_flushed() const {
  return std::all_of(peers_.begin(), peers_.end(),
                     [](const auto& entry) { return entry.second->link->unsent() == 0; });
}

}  // namespace distinit
