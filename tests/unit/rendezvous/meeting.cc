// SPDX-License-Identifier: Apache-2.0
// Root and members for real, over loopback, in one process on one event loop.

#include "lib/rendezvous/member.h"
#include "lib/rendezvous/root.h"
#include "lib/store/client.h"
#include "lib/store/listen.h"
#include "tests/unit/scratch.h"

#include <algorithm>
#include <optional>
#include <thread>

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace distinit;

namespace {

const std::string kSecret(64, '5');

/// One node's side of the rendezvous and what it was told.
struct Node {
  std::unique_ptr<Rendezvous> rendezvous;
  std::optional<Release> release;
  std::optional<int> aborted;
  bool all_done = false;

  RendezvousEvents events() {
    return RendezvousEvents{[this](const Release& r) { release = r; },
                            [this](int status) { aborted = status; }, [this] { all_done = true; }};
  }
};

/// A log that is a file which can be read back.
class LogFile {
 public:
  LogFile() : fd_(::open(scratch_root().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) {}
  Log log(LogLevel level = LogLevel::kWarn) const { return Log(fd_.get(), LogFilter{level, {}}); }
  std::string text() const {
    lseek(fd_.get(), 0, SEEK_SET);
    return read_all(fd_.get(), 1 << 20).value();
  }

 private:
  Fd fd_;
};

/// A world of `nodes` × `per_node` ranks whose nodes are all this machine.
RendezvousSetup make_setup(int nodes, int per_node, int group_rank,
                           const std::string& spec = "dp") {
  RendezvousSetup setup;
  StepFacts& facts = setup.facts;
  facts.job_id = std::to_string(getpid());
  facts.step_id = "0";
  facts.world_size = nodes * per_node;
  facts.node_count = nodes;
  facts.group_rank = group_rank;
  for (int node = 0; node < nodes; ++node) {
    facts.nodes.push_back("n" + std::to_string(node + 1));
    facts.tasks_per_node.push_back(per_node);
  }
  facts.node_name = facts.nodes[static_cast<size_t>(group_rank)];
  for (int i = 0; i < per_node; ++i) {
    facts.node_ranks.push_back(group_rank * per_node + i);
  }
  setup.spec = parse_spec(spec).value();
  setup.options = typed_options(setup.spec);
  setup.mesh = resolve_mesh(setup.spec, facts.world_size).value();
  setup.version = "test";
  setup.root_node = "n1";
  setup.root_address = "127.0.0.1";
  return setup;
}

class Meeting {
 public:
  EventLoop loop = EventLoop::create().value();
  StepKey key = StepKey::create(kSecret, "test").value();
  LogFile file;
  Log log = file.log();
  std::vector<std::unique_ptr<Node>> nodes;

  ~Meeting() { nodes.clear(); }

  Node& add_root(RendezvousSetup setup) {
    nodes.push_back(std::make_unique<Node>());
    Node& node = *nodes.back();
    node.rendezvous = Root::create(loop, log, key, std::move(setup), node.events()).value();
    return node;
  }
  Node& add_member(RendezvousSetup setup, const StepKey* other_key = nullptr,
                   std::optional<Error> crashed = {}) {
    nodes.push_back(std::make_unique<Node>());
    Node& node = *nodes.back();
    node.rendezvous = std::make_unique<Member>(loop, log, other_key != nullptr ? *other_key : key,
                                               std::move(setup), node.events(), std::move(crashed));
    return node;
  }
  /// Runs the loop until `done` or the limit; says whether it was done.
  template <typename Done>
  bool run_until(Done done, milliseconds limit = milliseconds(10'000)) {
    const Deadline deadline(limit);
    while (!done() && !deadline.has_passed()) {
      loop.run_once(milliseconds(20));
    }
    return done();
  }
};

}  // namespace

Test(meeting, releases_all_nodes_with_one_endpoint) {
  Meeting meeting;
  Node& root = meeting.add_root(make_setup(3, 2, 0));
  Node& one = meeting.add_member(make_setup(3, 2, 1));
  Node& two = meeting.add_member(make_setup(3, 2, 2));
  root.rendezvous->ranks_present({0, 1});
  one.rendezvous->ranks_present({2, 3});
  two.rendezvous->ranks_present({4});
  meeting.run_until([] { return false; }, milliseconds(200));
  cr_assert_not(root.release.has_value(), "rank 5 is missing");
  two.rendezvous->ranks_present({4, 5});
  cr_assert(meeting.run_until([&] { return root.release && one.release && two.release; }));
  cr_assert(*root.release == *one.release && *one.release == *two.release);
  cr_assert_eq(root.release->master_addr, "127.0.0.1");
  cr_assert_eq(root.release->master_port, root.release->store_port);
  cr_assert_eq(meeting.file.text(), "");
}

Test(meeting, passes_over_strangers_on_the_first_ports) {
  Meeting meeting;
  RendezvousSetup setup = make_setup(2, 1, 0);
  const std::vector<int> ports = store_ports(setup);
  // One accepts and stays silent, one is another step's store; the third is ours.
  const Fd silent = listen_on("", ports[0]).value();
  Meeting other;
  RendezvousSetup elsewhere = make_setup(2, 1, 0);
  elsewhere.options.port = ports[1];
  other.key = StepKey::create(std::string(64, '6'), "test").value();
  other.add_root(elsewhere);
  Node& root = meeting.add_root(setup);
  Node& member = meeting.add_member(make_setup(2, 1, 1));
  root.rendezvous->ranks_present({0});
  member.rendezvous->ranks_present({1});
  cr_assert(meeting.run_until([&] {
    other.loop.run_once(milliseconds(0));
    return root.release && member.release;
  }));
  cr_assert_eq(member.release->store_port, ports[2]);
}

Test(meeting, member_waits_for_a_root_that_comes_later) {
  Meeting meeting;
  Node& member = meeting.add_member(make_setup(2, 1, 1));
  member.rendezvous->ranks_present({1});
  meeting.run_until([] { return false; }, milliseconds(150));
  Node& root = meeting.add_root(make_setup(2, 1, 0));
  root.rendezvous->ranks_present({0});
  cr_assert(meeting.run_until([&] { return root.release && member.release; }));
}

Test(meeting, failure_of_a_member_is_told_once_and_ends_all) {
  Meeting meeting;
  Node& root = meeting.add_root(make_setup(3, 1, 0));
  Node& one = meeting.add_member(make_setup(3, 1, 1));
  Node& two = meeting.add_member(make_setup(3, 1, 2));
  two.rendezvous->fail(Error{ErrorCode::kRendezvous, "rank 2 on n3: its process ended", "look", 0});
  cr_assert(meeting.run_until([&] { return root.aborted && one.aborted && two.aborted; }));
  cr_assert_eq(*root.aborted, 4);
  cr_assert_eq(*one.aborted, 4);
  cr_assert_eq(*two.aborted, 4);
  cr_assert_eq(meeting.file.text(),
               "distinit: rank 2 on n3: its process ended\ndistinit: hint: look\n");
}

Test(meeting, nobody_is_released_after_a_node_is_lost) {
  Meeting meeting;
  Node& root = meeting.add_root(make_setup(3, 1, 0));
  Node& lost = meeting.add_member(make_setup(3, 1, 1));
  root.rendezvous->ranks_present({0});
  lost.rendezvous->ranks_present({1});
  meeting.run_until([] { return false; }, milliseconds(200));
  meeting.nodes.pop_back();
  meeting.run_until([] { return false; }, milliseconds(100));
  Node& late = meeting.add_member(make_setup(3, 1, 2));
  late.rendezvous->ranks_present({2});
  cr_assert(meeting.run_until([&] { return root.aborted && late.aborted; }));
  cr_assert_not(root.release.has_value());
  cr_assert_not(late.release.has_value());
  const std::string text = meeting.file.text();
  cr_assert_eq(text.find("distinit: the agent on n2 ended before the step could start\n"), 0u, "%s",
               text.c_str());
}

Test(meeting, deadline_names_what_is_missing_once) {
  Meeting meeting;
  RendezvousSetup setup = make_setup(3, 2, 0, "dp,timeout=1");
  Node& root = meeting.add_root(setup);
  Node& one = meeting.add_member(make_setup(3, 2, 1, "dp,timeout=1"));
  root.rendezvous->ranks_present({0, 1});
  one.rendezvous->ranks_present({2});
  cr_assert(meeting.run_until([&] { return root.aborted && one.aborted; }));
  cr_assert_eq(*one.aborted, 4);
  const std::string text = meeting.file.text();
  cr_assert_neq(text.find("after 1 s still missing: 1 of 3 nodes (n3), rank 3 on n2"),
                std::string::npos, "%s", text.c_str());
  cr_assert_eq(text.find("still missing"), text.rfind("still missing"));
}

Test(meeting, member_without_a_root_gives_up_and_says_where_it_looked) {
  Meeting meeting;
  Node& member = meeting.add_member(make_setup(2, 1, 1, "dp,timeout=1"));
  cr_assert(meeting.run_until([&] { return member.aborted.has_value(); }));
  cr_assert_eq(*member.aborted, 4);
  const std::string text = meeting.file.text();
  cr_assert_neq(
      text.find("n2: after 1 s the node of rank 0, n1, can't be reached (127.0.0.1 ports "),
      std::string::npos, "%s", text.c_str());
  cr_assert_neq(text.find("Connection refused"), std::string::npos, "%s", text.c_str());
}

Test(meeting, an_agent_without_the_secret_never_joins) {
  Meeting meeting;
  Node& root = meeting.add_root(make_setup(2, 1, 0));
  const StepKey wrong = StepKey::create(std::string(64, '7'), "test").value();
  Node& stranger = meeting.add_member(make_setup(2, 1, 1), &wrong);
  root.rendezvous->ranks_present({0});
  stranger.rendezvous->ranks_present({1});
  meeting.run_until([] { return false; }, milliseconds(500));
  cr_assert_not(root.release.has_value());
  cr_assert_not(stranger.release.has_value());
}

Test(meeting, the_guard_of_a_crashed_agent_ends_the_step) {
  Meeting meeting;
  Node& root = meeting.add_root(make_setup(2, 1, 0));
  Node& guard =
      meeting.add_member(make_setup(2, 1, 1), nullptr,
                         Error{ErrorCode::kRendezvous, "n2: the agent was killed", "", 0});
  cr_assert(meeting.run_until([&] { return root.aborted.has_value(); }));
  cr_assert_eq(*root.aborted, 4);
  cr_assert(guard.aborted.has_value());
  cr_assert_eq(meeting.file.text(), "distinit: n2: the agent was killed\n");
}

Test(meeting, a_lost_root_ends_its_members_unless_it_was_ending) {
  for (const bool told : {true, false}) {
    Meeting meeting;
    Node& root = meeting.add_root(make_setup(2, 1, 0));
    Node& member = meeting.add_member(make_setup(2, 1, 1));
    root.rendezvous->ranks_present({0});
    member.rendezvous->ranks_present({1});
    cr_assert(meeting.run_until([&] { return root.release && member.release; }));
    if (told) {
      root.rendezvous->ending();
      meeting.run_until([] { return false; }, milliseconds(100));
    }
    meeting.nodes.erase(meeting.nodes.begin());
    meeting.run_until([&] { return member.aborted.has_value(); }, milliseconds(1500));
    cr_assert_eq(member.aborted.has_value(), !told);
  }
}

Test(meeting, store_outlives_until_every_node_is_done) {
  Meeting meeting;
  Node& root = meeting.add_root(make_setup(3, 1, 0));
  Node& one = meeting.add_member(make_setup(3, 1, 1));
  Node& two = meeting.add_member(make_setup(3, 1, 2));
  root.rendezvous->ranks_present({0});
  one.rendezvous->ranks_present({1});
  two.rendezvous->ranks_present({2});
  cr_assert(meeting.run_until([&] { return root.release && one.release && two.release; }));
  one.rendezvous->done();
  meeting.run_until([] { return false; }, milliseconds(100));
  cr_assert_not(root.all_done);
  // An agent that Slurm ended with its last task has often not said so.
  meeting.nodes.pop_back();
  cr_assert(meeting.run_until([&] { return root.all_done; }));
  cr_assert_not(root.aborted.has_value());
}

Test(meeting, serves_the_store_to_this_user) {
  Meeting meeting;
  Node& root = meeting.add_root(make_setup(1, 1, 0));
  root.rendezvous->ranks_present({0});
  cr_assert(meeting.run_until([&] { return root.release.has_value(); }));
  cr_assert_eq(root.release->master_addr, "127.0.0.1");
  std::optional<std::string> got;
  std::thread client([&] {
    auto store =
        StoreClient::connect("127.0.0.1", root.release->store_port, Deadline(milliseconds(5000)));
    if (store && store->set("k", "v", Deadline(milliseconds(5000)))) {
      got = store->get("k", Deadline(milliseconds(5000))).value();
    }
  });
  meeting.run_until([] { return false; }, milliseconds(500));
  client.join();
  cr_assert(got == "v");
}

Test(meeting, one_report_is_printed_for_all_ranks_that_say_the_same) {
  Meeting meeting;
  Node& root = meeting.add_root(make_setup(2, 1, 0));
  Node& member = meeting.add_member(make_setup(2, 1, 1));
  root.rendezvous->ranks_present({0});
  member.rendezvous->ranks_present({1});
  cr_assert(meeting.run_until([&] { return root.release && member.release; }));
  int printed = 0;
  root.rendezvous->report(Error{ErrorCode::kNotFound, "rank 0 on n1: can't run 'x'", "", 0},
                          [&] { ++printed; });
  member.rendezvous->report(Error{ErrorCode::kNotFound, "rank 1 on n2: can't run 'x'", "", 0},
                            [&] { ++printed; });
  cr_assert(meeting.run_until([&] { return printed == 2; }));
  cr_assert_eq(meeting.file.text(), "distinit: rank 0 on n1: can't run 'x'\n");
}

Test(meeting, a_taken_fixed_port_is_named_once_and_ends_every_node) {
  Meeting meeting;
  RendezvousSetup setup = make_setup(3, 1, 0);
  const Fd taken = listen_on("", 0).value();
  setup.options.port = bound_port(taken);
  Node& root = meeting.add_root(setup);
  RendezvousSetup one = make_setup(3, 1, 1);
  one.options.port = setup.options.port;
  Node& early = meeting.add_member(one);
  meeting.run_until([] { return false; }, milliseconds(200));
  cr_assert_not(root.aborted.has_value(), "n3 has not been told yet");
  RendezvousSetup two = make_setup(3, 1, 2);
  two.options.port = setup.options.port;
  Node& late = meeting.add_member(two);
  cr_assert(meeting.run_until([&] { return root.aborted && early.aborted && late.aborted; },
                              milliseconds(4000)));
  cr_assert_eq(*late.aborted, 4);
  const std::string text = meeting.file.text();
  cr_assert_eq(text.find("distinit: n1: port " + std::to_string(setup.options.port) +
                         " can't be used for the store: "),
               0u, "%s", text.c_str());
  cr_assert_eq(std::count(text.begin(), text.end(), '\n'), 2);
}

Test(meeting, a_full_range_is_told_to_every_node) {
  Meeting meeting;
  RendezvousSetup setup = make_setup(2, 1, 0);
  const Fd taken = listen_on("", 0).value();
  setup.options.port_low = setup.options.port_high = bound_port(taken);
  RendezvousSetup other = make_setup(2, 1, 1);
  other.options = setup.options;
  Node& root = meeting.add_root(setup);
  Node& member = meeting.add_member(other);
  cr_assert(meeting.run_until([&] { return root.aborted && member.aborted; }));
  cr_assert_eq(*member.aborted, 4);
}

Test(meeting, a_template_moves_the_store_to_that_network) {
  Meeting meeting;
  RendezvousSetup setup = make_setup(2, 1, 1);
  setup.options.address_template = "127.0.0.%n";
  setup.root_node = "9";
  setup.root_address = "127.0.0.1";
  Node& root = meeting.add_root(make_setup(2, 1, 0));
  Node& member = meeting.add_member(setup);
  root.rendezvous->ranks_present({0});
  member.rendezvous->ranks_present({1});
  cr_assert(meeting.run_until([&] { return root.release && member.release; }));
  cr_assert_eq(member.release->master_addr, "127.0.0.9");
}

Test(meeting, a_template_that_gives_no_address_ends_the_step_with_its_name) {
  Meeting meeting;
  RendezvousSetup setup = make_setup(2, 1, 1);
  setup.options.address_template = "%n.invalid";
  Node& root = meeting.add_root(make_setup(2, 1, 0));
  Node& member = meeting.add_member(setup);
  cr_assert(meeting.run_until([&] { return root.aborted && member.aborted; }));
  const std::string text = meeting.file.text();
  cr_assert_neq(
      text.find("n2: address.template=%n.invalid gives n1.invalid, which does not resolve"),
      std::string::npos, "%s", text.c_str());
}

Test(meeting, holds_a_port_for_rank_0s_own_store) {
  Meeting meeting;
  Node& root = meeting.add_root(make_setup(1, 1, 0, "dp,torch.store=rank0"));
  root.rendezvous->ranks_present({0});
  cr_assert(meeting.run_until([&] { return root.release.has_value(); }));
  cr_assert_neq(root.release->master_port, root.release->store_port);
  // A program that binds as torch does gets it; nobody else would.
  const auto program = listen_on("", root.release->master_port);
  cr_assert(program.has_value(), "%s", program ? "" : program.error().what.c_str());
}

Test(meeting, what_nodes_found_is_told_once_at_the_release) {
  Meeting meeting;
  Node& root = meeting.add_root(make_setup(2, 1, 0));
  Node& member = meeting.add_member(make_setup(2, 1, 1));
  const Finding both{"9 ranks share 8 GPUs", "start fewer"};
  // Before the member has met the root.
  member.rendezvous->node_found(NodeReport{"n2", "mlx5_0:1", {both}, true});
  member.rendezvous->ranks_present({1});
  root.rendezvous->node_found(NodeReport{"n1", "mlx5_0:1,mlx5_1:1", {both}, true});
  root.rendezvous->ranks_present({0});
  cr_assert(meeting.run_until([&] { return root.release && member.release; }));
  const std::string text = meeting.file.text();
  cr_assert_neq(
      text.find("distinit: warning: n1, n2: 9 ranks share 8 GPUs\ndistinit: hint: start fewer\n"
                "distinit: warning: usable HCAs differ between nodes: mlx5_0:1,mlx5_1:1 on n1; "
                "mlx5_0:1 on n2\n"),
      std::string::npos, "%s", text.c_str());
  cr_assert_eq(text.find("share"), text.rfind("share"));
}
