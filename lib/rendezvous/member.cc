// SPDX-License-Identifier: Apache-2.0
#include "lib/rendezvous/member.h"

#include "lib/base/exit_status.h"
#include "lib/base/socket_owner.h"
#include "lib/base/text.h"
#include "lib/rendezvous/keepalive.h"
#include "lib/rendezvous/resolver.h"

#include <utility>

#include <string.h>
#include <unistd.h>

namespace distinit {

namespace {

/// The root speaks first at the deadline; a member that has no root does so a little later.
constexpr milliseconds kAfterRoot{2000};
/// How long a failure here may look for a root to be told.
constexpr milliseconds kFailureSearch{5000};
/// A root that goes away because the whole step is being ended is followed by our own end within
/// this.
constexpr milliseconds kLossGrace{1000};
constexpr milliseconds kProbeLimit{5000};

std::string apply_template(const std::string& pattern, const std::string& node) {
  std::string host = pattern;
  const size_t at = host.find("%n");
  return at == std::string::npos ? host : host.replace(at, 2, node);
}

}  // namespace

Member::Member(EventLoop& loop, const Log& log, const StepKey& key, RendezvousSetup setup,
               RendezvousEvents events, std::optional<Error> crashed)
    : loop_(loop),
      log_(log),
      key_(key),
      setup_(std::move(setup)),
      events_(std::move(events)),
      crashed_(std::move(crashed)) {
  if (crashed_) {
    grace_ = loop_.add_timer(kFailureSearch, [this] { give_up(*crashed_); });
    seek();
    return;
  }
  waited_ = next_reminder(milliseconds(0));
  reminder_ = loop_.add_timer(waited_, [this] { on_reminder(); });
  deadline_ = loop_.add_timer(milliseconds(setup_.options.timeout_s * 1000LL) + kAfterRoot, [this] {
    give_up(Error{
        ErrorCode::kRendezvous,
        concat(setup_.facts.node_name, ": after ", setup_.options.timeout_s, " s ",
               link_ ? "the root has not released this node"
                     : concat("the node of rank 0",
                              setup_.root_node.empty() ? "" : concat(", ", setup_.root_node, ","),
                              " can't be reached (", seeker_ ? seeker_->describe() : "", ")")),
        "is that node up, does its name resolve here, does a firewall drop these ports? "
        "`address.template=` names another network, `timeout=SECONDS` waits longer",
        0});
  });
  seek();
}

Member::~Member() {
  *alive_ = false;
  for (const EventLoop::TimerId timer : {reminder_, deadline_, grace_, probe_deadline_}) {
    loop_.cancel_timer(timer);
  }
}

void Member::seek() {
  seeker_ =
      std::make_unique<Seeker>(loop_, key_, meeting_ports(setup_),
                               [this](const std::shared_ptr<FrameLink>& link,
                                      const SocketAddress& address) { on_found(link, address); });
  std::vector<std::string> names;
  if (setup_.root_node.empty()) {
    // Nobody could tell which node holds rank 0: ask them all.
    for (const std::string& node : setup_.facts.nodes) {
      if (node != setup_.facts.node_name) {
        names.push_back(node);
      }
    }
  } else {
    names.push_back(setup_.root_node);
  }
  for (const std::string& name : names) {
    if (setup_.options.address_template.empty()) {
      seek_by_name(name);
    } else {
      seek_by_template(name);
    }
  }
}

void Member::seek_by_name(const std::string& name) {
  if (name == setup_.root_node && !setup_.root_address.empty()) {
    add_or_look_up(setup_.root_address);
  }
  look_up(name);
}

void Member::seek_by_template(const std::string& name) {
  const std::string host = apply_template(setup_.options.address_template, name);
  if (SocketAddress::parse(host, 0) || crashed_) {
    add_or_look_up(host);
    return;
  }
  resolve(loop_, host, [this, alive = alive_, host, name](const std::vector<SocketAddress>& found) {
    if (!*alive || !seeker_) {
      return;
    }
    for (const SocketAddress& address : found) {
      seeker_->add_host(address);
    }
    if (found.empty() && name == setup_.root_node) {
      // The other network is only good for saying so.
      seek_by_name(name);
      fail(Error{
          ErrorCode::kRendezvous,
          concat(setup_.facts.node_name, ": address.template=", setup_.options.address_template,
                 " gives ", host, ", which does not resolve here"),
          "correct it in plugstack.conf or the SPEC, or add the name to this node's hosts", 0});
    }
  });
}

/// An address that the site has written down is taken as it is: several nodes may be one machine.
void Member::add_or_look_up(const std::string& host) {
  if (const auto numeric = SocketAddress::parse(host, 0)) {
    seeker_->add_host(*numeric);
  } else {
    look_up(host);
  }
}

void Member::look_up(const std::string& host) {
  resolve(loop_, host, [this, alive = alive_](const std::vector<SocketAddress>& addresses) {
    if (!*alive || !seeker_) {
      return;
    }
    for (const SocketAddress& address : addresses) {
      // A name that gives this very machine is no way to another node.
      if (!address.is_loopback() && !address.is_link_local() && !is_own_address(address)) {
        seeker_->add_host(address);
      }
    }
  });
}

void Member::on_found(const std::shared_ptr<FrameLink>& link, const SocketAddress& address) {
  link_ = link;
  root_ = address;
  link_->rebind([this](const std::string& message) { on_message(message); },
                [this](int sys_errno) { on_lost(sys_errno); });
  seeker_.reset();
  if (crashed_) {
    link_->send(encode(AgentMessage::kCrashed, *crashed_));
    return;
  }
  link_->send(encode(Join{setup_.facts.node_name, setup_.facts.group_rank, setup_.facts.node_ranks,
                          address.host(), format_spec(setup_.spec), setup_.version}));
  if (failed_) {
    link_->send(encode(AgentMessage::kFailed, *failed_));
    return;
  }
  if (found_) {
    link_->send(encode(*found_));
  }
  if (!present_.empty()) {
    link_->send(encode(AgentMessage::kPresent, present_));
  }
}

void Member::node_found(const NodeReport& report) {
  found_ = report;
  if (link_) {
    link_->send(encode(report));
  }
}

void Member::ranks_present(const std::vector<int>& ranks) {
  present_ = ranks;
  if (link_) {
    link_->send(encode(AgentMessage::kPresent, present_));
  }
}

void Member::fail(const Error& error) {
  if (over_ || failed_) {
    return;
  }
  failed_ = error;
  if (link_) {
    link_->send(encode(AgentMessage::kFailed, error));
  }
  grace_ = loop_.add_timer(kFailureSearch, [this] { give_up(*failed_); });
}

void Member::report(const Error& error, std::function<void()> printed) {
  if (!link_ || !link_->is_open()) {
    printed_.print(log_, error);
    printed();
    return;
  }
  // Answers come in the order of the questions.
  reports_.emplace(reports_.empty() ? 0 : reports_.rbegin()->first + 1, std::move(printed));
  link_->send(encode(AgentMessage::kReport, error));
}

void Member::done() {
  over_ = true;
  loop_.cancel_timer(deadline_);
  loop_.cancel_timer(reminder_);
  if (link_) {
    link_->send(encode(AgentMessage::kDone));
  }
}

bool Member::is_flushed() const {
  return !link_ || !link_->is_open() || link_->unsent() == 0;
}

void Member::on_message(const std::string& message) {
  switch (static_cast<AgentMessage>(message.empty() ? 0 : message[0])) {
    case AgentMessage::kRelease:
      if (const auto release = decode_release(message)) {
        released_ = true;
        loop_.cancel_timer(deadline_);
        loop_.cancel_timer(reminder_);
        events_.on_release(*release);
      }
      break;
    case AgentMessage::kAbort: {
      const auto status = decode_count(message);
      abort(status ? static_cast<int>(*status) : kExitInternal);
      break;
    }
    case AgentMessage::kProbe:
      if (const auto host = decode_text(message)) {
        probe(*host);
      }
      break;
    case AgentMessage::kVouch:
      if (const auto question = decode_vouch_question(message)) {
        answer_vouch(*question);
      }
      break;
    case AgentMessage::kReported:
      if (!reports_.empty()) {
        const auto printed = std::move(reports_.begin()->second);
        reports_.erase(reports_.begin());
        printed();
      }
      break;
    case AgentMessage::kEnding:
      root_is_ending_ = true;
      break;
    default:
      break;  // of a later release; versions were compared at the join
  }
}

void Member::on_lost(int sys_errno) {
  for (auto& [number, printed] : std::exchange(reports_, {})) {
    printed();
  }
  if (over_ || root_is_ending_ || (released_ && setup_.options.torch_store == TorchStore::kRank0)) {
    return;
  }
  if (crashed_) {
    // Told: the root has ended the step, or was ending it anyway.
    abort(kExitRendezvous);
    return;
  }
  loop_.cancel_timer(grace_);
  grace_ = loop_.add_timer(kLossGrace, [this, sys_errno] {
    const Error error{
        ErrorCode::kRendezvous,
        concat(setup_.facts.node_name, ": lost the node of rank 0 (", root_.text(),
               "): ", sys_errno == 0 ? "its agent ended" : strerror(sys_errno)),
        "the store is gone with it, so the step is ended; look at that node's system log", 0};
    // Its guard has said so, unless the node itself is gone: then one of us speaks.
    if (speaks_when_root_is_away() && is_network_loss(sys_errno)) {
      log_.error(error);
    } else {
      log_.info(error.what);
    }
    abort(kExitRendezvous);
  });
}

void Member::on_reminder() {
  if (!link_ && speaks_when_root_is_away()) {
    log_.warn(concat(setup_.facts.node_name, " waits for ",
                     setup_.root_node.empty() ? "the node of rank 0" : setup_.root_node, " since ",
                     waited_.count() / 1000, " s (", seeker_ ? seeker_->describe() : "", ")"));
  }
  const milliseconds next = next_reminder(waited_);
  reminder_ = loop_.add_timer(next - waited_, [this] { on_reminder(); });
  waited_ = next;
}

bool Member::speaks_when_root_is_away() const {
  return setup_.facts.group_rank == 1 ||
         (setup_.facts.group_rank == 0 && setup_.facts.node_count > 1);
}

void Member::probe(const std::string& host) {
  const auto answer = [this](uint32_t reached) {
    loop_.cancel_timer(probe_deadline_);
    prober_.reset();
    if (link_) {
      link_->send(encode(AgentMessage::kProbed, reached));
    }
  };
  prober_ = std::make_unique<Seeker>(
      loop_, key_, std::vector<int>{root_.port()},
      [answer](const std::shared_ptr<FrameLink>& link, const SocketAddress&) {
        link->close();
        answer(1);
      });
  probe_deadline_ = loop_.add_timer(kProbeLimit, [answer] { answer(0); });
  resolve(loop_, host, [this, answer, alive = alive_](const std::vector<SocketAddress>& addresses) {
    if (!*alive || !prober_) {
      return;
    }
    if (addresses.empty()) {
      answer(0);
      return;
    }
    // Only the first: a client of the program's may not try a second one.
    prober_->add_host(addresses.front());
  });
}

void Member::answer_vouch(const VouchQuestion& question) {
  VouchAnswer answer{question.id, false, {}};
  const auto member = SocketAddress::parse(question.member_host, question.member_port);
  const auto root = SocketAddress::parse(question.root_host, question.root_port);
  if (!member || !root) {
    answer.why = "unreadable address";
  } else if (const auto owner = socket_owner(member->storage(), root->storage()); !owner) {
    answer.why = concat("no such socket on ", setup_.facts.node_name,
                        " (a container with a network of its own?)");
  } else if (*owner != getuid()) {
    answer.why = concat("it belongs to uid ", *owner, " on ", setup_.facts.node_name);
  } else {
    answer.ours = true;
  }
  link_->send(encode(answer));
}

void Member::give_up(const Error& error) {
  log_.error(error);
  abort(exit_status(error.code));
}

void Member::abort(int exit_status) {
  if (over_) {
    return;
  }
  over_ = true;
  for (const EventLoop::TimerId timer : {reminder_, deadline_, grace_}) {
    loop_.cancel_timer(timer);
  }
  events_.on_abort(exit_status);
}

}  // namespace distinit
