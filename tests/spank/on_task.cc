// SPDX-License-Identifier: Apache-2.0
// The half of the plugin on a node, with a shell script as a fake agent.
#include "lib/base/fd.h"
#include "lib/base/frame.h"
#include "lib/base/text.h"
#include "lib/spec/protocol.h"
#include "spank/contexts.h"
#include "tests/spank/fake_host.h"
#include "tests/unit/scratch.h"

#include <algorithm>

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace distinit {

namespace {

constexpr uint32_t kBatchStep = 0xfffffffb;

/// A folder with a fake agent and a stage, and the host of the task that uses them.
class Node {
 public:
  explicit Node(const std::string& agent_script = "printf R >&4") {
    folder_ = make_scratch_folder("distinit-spank");
    write("fake-agent", concat("#!/bin/sh\n", agent_script, "\n"), 0755);
    write("stage", "", 0755);
    state.plugstack.helper = path("fake-agent");
    state.plugstack.stage = path("stage");
    state.requested = true;
    host.where = HostContext::kStepd;
    host.items = {{HostItem::kJobId, 42},
                  {HostItem::kStepId, 3},
                  {HostItem::kTotalTasks, 2},
                  {HostItem::kLocalTasks, 2},
                  {HostItem::kLocalTaskId, 0}};
    for (const char* entry :
         {"SLURM_JOB_ID=42", "SLURM_STEP_ID=3", "SLURM_PROCID=4", "SLURM_LOCALID=0",
          "SLURMD_NODENAME=n7", "SLURM_DISTINIT_SPEC=dp", "SLURM_DISTINIT_SECRET=5ec2e7",
          "SLURM_DISTINIT_STEP=42.3", "PATH=/usr/bin:/bin", "LD_PRELOAD=/nowhere.so",
          "CUDA_VISIBLE_DEVICES=1"}) {
      const std::string_view text = entry;
      host.variables.set(text.substr(0, text.find('=')), text.substr(text.find('=') + 1));
    }
    host.argv = {program_, argument_, nullptr};
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() {
    // A task's process leaves it to its exec.
    if (host.argv[0] != program_) {
      free(host.argv[0]);
    }
    for (const char* name : {"fake-agent", "stage", "seen", "pid"}) {
      unlink(path(name).c_str());
    }
    rmdir(folder_.c_str());
  }

  std::string path(std::string_view name) const { return concat(folder_, '/', name); }
  void write(std::string_view name, std::string_view content, mode_t mode) const {
    const Fd file(open(path(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    cr_assert(write_all(file.get(), content).has_value());
    fchmod(file.get(), mode);
  }
  std::string read(std::string_view name) const {
    const auto content = read_file(path(name), 1 << 20);
    return content ? *content : "";
  }

  /// user_init and task_init of the one task. Another task's copy of the socket keeps it open.
  int run() {
    node_before_tasks(host, state);
    if (state.socket) {
      other_task = Fd(fcntl(state.socket->listener.get(), F_DUPFD_CLOEXEC, 0));
    }
    return task_before_exec(host, state);
  }
  void expect_one_error(std::string_view part) const {
    cr_assert(host.errors.size() == 2, "an error and a hint, not %zu lines", host.errors.size());
    cr_assert(host.errors[0].starts_with("distinit: n7: "), "%s", host.errors[0].c_str());
    cr_assert(host.errors[0].find(part) != std::string::npos, "%s", host.errors[0].c_str());
    cr_assert(host.errors[1].starts_with("distinit: hint: "), "%s", host.errors[1].c_str());
  }

  FakeHost host;
  PluginState state;
  Fd other_task;

 private:
  std::string folder_;
  char program_[8] = "./train";
  char argument_[3] = "-x";
};

std::vector<int> open_descriptors() {
  std::vector<int> out;
  DIR* folder = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(folder)) {
    const auto fd = parse_number(entry->d_name, 0, INT32_MAX);
    if (fd && *fd != dirfd(folder)) {
      out.push_back(static_cast<int>(*fd));
    }
  }
  closedir(folder);
  std::sort(out.begin(), out.end());
  return out;
}

/// What the agent would read from the first connection on the socket.
Hello accept_hello(int listener) {
  const Fd connection(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  char buffer[4096];
  const ssize_t count = recv(connection.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  cr_assert(count > 0);
  FrameReader reader;
  reader.append(std::string_view(buffer, static_cast<size_t>(count)));
  const auto message = reader.next();
  cr_assert(message.has_value() && message->has_value());
  const auto hello = decode_hello(**message);
  cr_assert(hello.has_value());
  return *hello;
}

}  // namespace

Test(on_task, a_task_gets_the_stage_and_a_socket_and_nothing_else) {
  Node node;
  const std::vector<int> before = open_descriptors();
  cr_assert(node.run() == 0, "%s", node.host.errors.empty() ? "" : node.host.errors[0].c_str());
  cr_assert(node.host.errors.empty() && node.host.infos.empty());
  const int stage = stage_fd_from_path(node.host.argv[0]);
  cr_assert(stage >= kStageFirstFd);
  std::vector<int> expected = before;
  expected.push_back(node.other_task.get());
  expected.push_back(stage);
  expected.push_back(stage + 1);
  std::sort(expected.begin(), expected.end());
  cr_assert(open_descriptors() == expected);
  cr_assert(fcntl(stage, F_GETFD) == 0 && fcntl(stage + 1, F_GETFD) == 0, "no close-on-exec");
  struct stat opened {};
  struct stat file {};
  fstat(stage, &opened);
  stat(node.path("stage").c_str(), &file);
  cr_assert(opened.st_ino == file.st_ino);
  fstat(stage + 1, &opened);
  cr_assert(S_ISSOCK(opened.st_mode));
  cr_assert(std::string(node.host.argv[1]) == "-x");
}

Test(on_task, the_pair_of_descriptors_steps_over_what_is_taken) {
  Node node;
  dup2(0, kStageFirstFd + 1);
  cr_assert(node.run() == 0);
  cr_assert(stage_fd_from_path(node.host.argv[0]) == kStageFirstFd + 2);
}

Test(on_task, hello_says_who_the_task_is_and_what_only_it_has) {
  Node node;
  node_before_tasks(node.host, node.state);
  const Fd agent(fcntl(node.state.socket->listener.get(), F_DUPFD_CLOEXEC, 0));
  cr_assert(task_before_exec(node.host, node.state) == 0);
  const Hello hello = accept_hello(agent.get());
  cr_assert(hello.rank == 4 && hello.local_rank == 0);
  cr_assert(hello.program == "./train");
  cr_assert(hello.environment.size() == 1);
  cr_assert(hello.environment[0] == "CUDA_VISIBLE_DEVICES=1");
}

Test(on_task, the_agent_is_arranged_as_the_protocol_says) {
  Node node(
      "here=${0%/*}; links=$(for fd in 0 1 3 4 20 700; do readlink /proc/$$/fd/$fd; done)\n"
      "echo \"links $links\" > $here/seen; echo \"args=$*\" >> $here/seen; env >> $here/seen\n"
      "cut -d' ' -f4-6 /proc/$$/stat >> $here/seen\n"
      "grep -E 'SigBlk|SigIgn' /proc/self/status >> $here/seen; printf R >&4");
  dup2(0, 20);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  signal(SIGTERM, SIG_IGN);
  cr_assert(node.run() == 0);
  const std::string seen = node.read("seen");
  const auto has = [&](const std::string& part) { return seen.find(part) != std::string::npos; };
  // Of 0, 1, 3, 4, 20 and 700 the first four alone are open.
  const std::vector<std::string_view> links =
      split(std::string_view(seen).substr(0, seen.find("\nargs=")), '\n');
  cr_assert(links.size() == 4, "%s", seen.c_str());
  cr_assert(links[0] == "links /dev/null" && links[1] == "/dev/null");
  cr_assert(links[2].starts_with("socket:") && links[3].starts_with("pipe:"));
  cr_assert(has("args=agent\n"));
  cr_assert(has("DISTINIT_SAVED_LD_PRELOAD=/nowhere.so\n") && !has("\nLD_PRELOAD="));
  cr_assert(has("SLURM_DISTINIT_SECRET=5ec2e7\n"));
  cr_assert(has("SigBlk:\t0000000000000000\nSigIgn:\t"), "%s", seen.c_str());
  // make leaves its children with signals 32 and 33 ignored: glibc's own, which nobody can reset.
  const uint64_t ignored = strtoull(seen.c_str() + seen.find("SigIgn:") + 7, nullptr, 16);
  cr_assert((ignored & ~uint64_t{0x180000000}) == 0, "%s", seen.c_str());
  cr_assert(has(concat(' ', getpgrp(), ' ', getsid(0), '\n')), "%s", seen.c_str());
}

Test(on_task, the_agent_is_no_child_of_the_program) {
  Node node("echo $$ > ${0%/*}/pid; printf R >&4; exec sleep 30");
  cr_assert(node.run() == 0);
  const auto agent = parse_number(split(node.read("pid"), '\n')[0], 1, INT32_MAX);
  cr_assert(agent.has_value());
  const pid_t pid = static_cast<pid_t>(*agent);
  cr_assert(kill(pid, 0) == 0);
  const std::string children =
      *read_file(concat("/proc/self/task/", getpid(), "/children"), 1 << 16);
  cr_assert(children.find(concat(pid)) == std::string::npos, "%s", children.c_str());
  kill(pid, SIGKILL);
}

Test(on_task, other_local_tasks_start_no_agent_and_wait_for_none) {
  Node node("touch ${0%/*}/seen; printf R >&4");
  node.host.items[HostItem::kLocalTaskId] = 1;
  cr_assert(node.run() == 0);
  cr_assert(stage_fd_from_path(node.host.argv[0]) >= kStageFirstFd);
  cr_assert(access(node.path("seen").c_str(), F_OK) != 0);
}

Test(on_task, early_returns_leave_everything_alone) {
  Node batch;
  batch.host.items[HostItem::kStepId] = kBatchStep;
  Node unasked;
  unasked.state.requested = false;
  unasked.state.plugstack.helper = "/nonexistent";
  Node elsewhere;
  elsewhere.host.where = HostContext::kSlurmd;
  Node active;
  active.state.active = true;
  for (Node* node : {&batch, &unasked, &elsewhere, &active}) {
    const auto before = node->host.variables.values();
    cr_assert(node->run() == 0);
    cr_assert(std::string(node->host.argv[0]) == "./train");
    cr_assert(node->host.errors.empty() && node->host.infos.empty());
    cr_assert(node->host.variables.values() == before);
  }
  cr_assert(!batch.state.socket && !unasked.state.socket);
}

Test(on_task, without_srun_s_half_it_says_so) {
  for (const char* name : {"SLURM_DISTINIT_SPEC", "SLURM_DISTINIT_SECRET", "SLURM_DISTINIT_STEP"}) {
    Node node;
    node.host.variables.unset(name);
    cr_assert(node.run() == -1);
    node.expect_one_error("srun had no distinit plugin");
  }
}

Test(on_task, variables_of_an_outer_step_are_refused_with_both_steps) {
  Node node;
  node.host.variables.set("SLURM_DISTINIT_STEP", "42.1");
  cr_assert(node.run() == -1);
  node.expect_one_error("SLURM_DISTINIT_STEP=42.1 but this is step 42.3");
}

Test(on_task, later_components_of_a_het_step_come_without_a_step) {
  Node node;
  node.host.variables.unset("SLURM_DISTINIT_STEP");
  node.host.variables.set("SLURM_HET_SIZE", "2");
  cr_assert(node.run() == 0);
}

Test(on_task, only_local_task_0_speaks) {
  Node node;
  node.host.items[HostItem::kLocalTaskId] = 1;
  node.state.plugstack.stage = "/nonexistent/stage";
  cr_assert(node.run() == -1);
  cr_assert(node.host.errors.empty());
}

Test(on_task, a_missing_stage_or_helper_is_named) {
  Node no_stage;
  no_stage.state.plugstack.stage = "/nonexistent/stage";
  cr_assert(no_stage.run() == -1);
  no_stage.expect_one_error("can't use the stage /nonexistent/stage: No such file");
  Node no_helper;
  no_helper.state.plugstack.helper = "/nonexistent/distinit";
  cr_assert(no_helper.run() == -1);
  no_helper.expect_one_error("can't run the helper /nonexistent/distinit: No such file");
  Node no_path;
  no_path.state.plugstack.helper = "";
  cr_assert(no_path.run() == -1);
  no_path.expect_one_error("plugstack.conf has no helper=PATH");
}

Test(on_task, a_helper_that_can_t_be_executed_is_named) {
  Node plain;
  plain.write("fake-agent", "text", 0644);
  cr_assert(plain.run() == -1);
  plain.expect_one_error("fake-agent: Permission denied");
  Node shapeless;
  shapeless.write("fake-agent", "text", 0755);
  cr_assert(shapeless.run() == -1);
  shapeless.expect_one_error("fake-agent: Exec format error");
}

Test(on_task, an_agent_that_ends_at_once_is_reported) {
  Node node("exit 3");
  cr_assert(node.run() == -1);
  node.expect_one_error("ended before it was ready");
}

Test(on_task, an_agent_that_has_spoken_itself_is_not_reported_again) {
  Node node("printf E >&4");
  cr_assert(node.run() == -1);
  cr_assert(node.host.errors.empty());
}

Test(on_task, a_broken_socket_shows_in_task_init_only) {
  Node node;
  node.state.node_error = Error{ErrorCode::kInternal, "can't bind the node's socket", "why", 0};
  cr_assert(task_before_exec(node.host, node.state) == -1);
  node.expect_one_error("can't bind the node's socket");
}

Test(on_task, a_descriptor_that_is_another_file_now_is_not_taken_for_the_socket) {
  Node node;
  node_before_tasks(node.host, node.state);
  dup2(0, node.state.socket->listener.get());
  cr_assert(task_before_exec(node.host, node.state) == -1);
  node.expect_one_error("the node's socket did not reach this task");
}

Test(on_task, without_a_rank_it_names_the_variable) {
  Node node;
  node.host.variables.set("SLURM_PROCID", "four");
  cr_assert(node.run() == -1);
  node.expect_one_error("SLURM_PROCID='four'");
}

Test(on_node, the_socket_lives_until_the_last_task_is_forked) {
  Node node;
  node_before_tasks(node.host, node.state);
  cr_assert(node.state.socket.has_value() && !node.state.node_error);
  const Fd task(connect_node_socket(*node.state.socket).value());
  node_task_forked(node.host, node.state);
  cr_assert(node.state.socket.has_value());
  node_task_forked(node.host, node.state);
  cr_assert(!node.state.socket);
  // Nobody has accepted and nobody will: the task's end of the connection must say so.
  pollfd waiting{task.get(), POLLIN, 0};
  cr_assert(poll(&waiting, 1, 1000) == 1);
}

Test(on_node, two_nodes_on_one_machine_have_different_sockets) {
  const auto one = open_node_socket();
  const auto two = open_node_socket();
  cr_assert(one.has_value() && two.has_value() && one->name != two->name);
}

Test(on_node, many_tasks_can_connect_before_the_agent_accepts) {
  const auto socket = open_node_socket();
  std::vector<Fd> tasks;
  for (int i = 0; i < 512; ++i) {
    auto task = connect_node_socket(*socket);
    cr_assert(task.has_value(), "task %d", i);
    tasks.push_back(std::move(*task));
  }
}

}  // namespace distinit
