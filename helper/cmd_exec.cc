// SPDX-License-Identifier: Apache-2.0
// `distinit exec`: the same launch without the plugin. Every task of the step runs this; local rank
// 0 starts the node's agent, and each becomes the stage.

#include "helper/agent_setup.h"
#include "helper/command.h"
#include "lib/base/exit_status.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/launch/agent_start.h"
#include "lib/launch/node_socket.h"
#include "lib/launch/stage_descriptors.h"
#include "lib/slurm/step.h"
#include "lib/spec/protocol.h"
#include "lib/spec/spec.h"

#include <string>
#include <vector>

#include <errno.h>
#include <sodium.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

extern char** environ;

namespace distinit {

namespace {

/// Local rank 0 may be started a little later than the others, or be slow to find its libraries.
constexpr milliseconds kSocketWait{30'000};
constexpr std::string_view kUserSecretVariable = "DISTINIT_SECRET";

struct Arguments {
  std::string spec;
  std::vector<std::string> program;
};

std::string step_name(const StepFacts& facts) {
  return concat(facts.job_id, '.', facts.step_id);
}

/// Where no plugin has minted a secret: the user's, or one that anybody on the nodes could compute.
std::string step_secret(const Environment& environment, const StepFacts& facts, const Log& log) {
  if (const auto given = environment.get(kUserSecretVariable)) {
    return std::string(*given);
  }
  if (facts.rank == 0 && facts.node_count > 1) {
    log.warn("no secret protects this step's store from other users of its nodes",
             concat("export ", kUserSecretVariable,
                    "=$(openssl rand -hex 32) before srun, or use the plugin, which mints one"));
  }
  const std::string known =
      concat("distinit ", getuid(), ' ', step_name(facts), '.', facts.restart_count);
  std::string hash(crypto_generichash_BYTES, '\0');
  crypto_generichash(reinterpret_cast<unsigned char*>(hash.data()), hash.size(),
                     reinterpret_cast<const unsigned char*>(known.data()), known.size(), nullptr,
                     0);
  return to_hex(hash);
}

Result<Environment> agent_variables(const Environment& environment, const StepFacts& facts,
                                    const std::string& spec_text, const Log& log) {
  Spec spec;
  if (const auto defaults = environment.get(kDefaultSpecVariable)) {
    auto parsed = parse_spec(*defaults);
    if (!parsed) {
      return with_context(parsed.error(), kDefaultSpecVariable);
    }
    spec = *parsed;
  }
  if (!spec_text.empty()) {
    DISTINIT_ASSIGN_OR_RETURN(const Spec given, parse_spec(spec_text));
    spec = merge_specs(spec, given);
  }
  Environment out = environment;
  for (const std::string_view stale :
       {kRootNodeVariable, kRootAddressVariable, kStartTimeVariable, kCpuBindVariable}) {
    out.unset(stale);
  }
  out.set(kSpecVariable, format_spec(spec));
  out.set(kStepVariable, step_name(facts));
  out.set(kSecretVariable, step_secret(environment, facts, log));
  return out;
}

Result<std::string> own_folder() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) {
    return system_error(ErrorCode::kInternal, "can't read /proc/self/exe", errno);
  }
  const std::string_view whole(path, static_cast<size_t>(length));
  return std::string(whole.substr(0, whole.rfind('/')));
}

Result<Fd> connect_when_there(const std::string& name) {
  const Deadline deadline(kSocketWait);
  while (true) {
    auto connected = connect_node_socket(name);
    if (connected || deadline.has_passed()) {
      return connected;
    }
    usleep(2000);
  }
}

Status greet(int agent, const Environment& environment, const StepFacts& facts) {
  Hello hello;
  hello.rank = facts.rank;
  hello.local_rank = facts.local_rank;
  for (const std::string_view name : kPerTaskVariables) {
    if (const auto value = environment.get(name)) {
      hello.environment.push_back(concat(name, '=', *value));
    }
  }
  return write_all(agent, encode_hello(hello));
}

/// Returns only on failure.
Status launch(Arguments arguments, const Environment& environment, const Log& log) {
  if (!is_step_task(environment)) {
    return Error{ErrorCode::kUsage, "not inside a Slurm step (SLURM_STEP_NODELIST is not set)",
                 "start it with srun: srun distinit exec --spec SPEC -- PROGRAM", 0};
  }
  DISTINIT_ASSIGN_OR_RETURN(const StepFacts facts, read_step_facts(environment));
  // What the plugin or another exec has told this step's programs; in an inner step it differs.
  if (environment.get_or("DISTINIT_STEP", "") == step_text(facts)) {
    return Error{ErrorCode::kUsage, "this step's tasks were started by distinit already",
                 "use one of the two", 0};
  }
  DISTINIT_ASSIGN_OR_RETURN(const Environment for_agent,
                            agent_variables(environment, facts, arguments.spec, log));
  DISTINIT_ASSIGN_OR_RETURN(const std::string folder, own_folder());
  DISTINIT_ASSIGN_OR_RETURN(Fd stage, open_stage(folder + "/distinit-stage"));
  const std::string name = concat("distinit-exec-", getuid(), '-', step_name(facts), '.',
                                  facts.restart_count, '-', facts.group_rank);
  if (facts.local_rank == 0) {
    DISTINIT_ASSIGN_OR_RETURN(const NodeSocket socket, open_node_socket(name));
    AgentStart start;
    start.helper = folder + "/distinit";
    start.environment = for_agent.entries();
    start.listener = socket.listener.get();
    DISTINIT_RETURN_IF_ERROR(start_agent(start));
  }
  DISTINIT_ASSIGN_OR_RETURN(Fd agent, connect_when_there(name));
  DISTINIT_RETURN_IF_ERROR(greet(agent.get(), environment, facts));
  DISTINIT_ASSIGN_OR_RETURN(const int stage_fd,
                            place_stage_descriptors(std::move(stage), std::move(agent)));
  std::string path = concat(kStagePathPrefix, stage_fd);
  std::vector<char*> argv = {path.data()};
  for (std::string& word : arguments.program) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  execve(path.c_str(), argv.data(), environ);
  return system_error(ErrorCode::kInternal, concat("can't run ", folder, "/distinit-stage"), errno,
                      "install distinit again");
}

int run(int argc, char** argv) {
  const Log log;
  Arguments arguments;
  CLI::App app(
      "Starts PROGRAM in a step as --distinit does, without the plugin:\n"
      "  srun distinit exec --spec tp2,dp2 -- ./train",
      "distinit exec");
  app.add_option("--spec", arguments.spec,
                 "the SPEC, as in --distinit=SPEC; default: dp over the world");
  app.add_option("program", arguments.program, "the program and its arguments")->required();
  app.positionals_at_end(true);
  app.prefix_command();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fputs(app.help().c_str(), stdout);
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    log.error(
        Error{ErrorCode::kUsage, concat("exec: ", error.what()), "see `distinit exec --help`", 0});
    return kExitUsage;
  }
  const Status launched = launch(std::move(arguments), Environment(environ), log);
  const Error& error = launched.error();
  const char* rank = getenv("SLURM_PROCID");
  const char* node = getenv("SLURMD_NODENAME");
  // The agent has printed its own failure; one that all tasks share comes from rank 0 alone.
  const bool shared = error.code == ErrorCode::kSpec || error.code == ErrorCode::kUsage;
  const bool speaks = !shared || rank == nullptr || std::string_view(rank) == "0";
  if (!error.what.empty() && speaks) {
    log.error(rank != nullptr && node != nullptr
                  ? with_context(error, concat("rank ", rank, " on ", node))
                  : error);
  }
  return exit_status(error.code);
}

const CommandRegistration kRegistration{Command{"exec", "the same launch without the plugin", run}};

}  // namespace

}  // namespace distinit
