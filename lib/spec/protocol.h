// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the plugin and the helper meet, and the only place: names of variables, descriptor numbers,
// and the messages on the socket between a task (plugin, then stage) and its node's agent.

#include "lib/base/result.h"

#include <string>
#include <string_view>
#include <vector>

#include <stdint.h>

namespace distinit {

// ---- variables that travel from srun to the node
// ------------------------------------------------------------ They begin with SLURM so that they
// survive `srun --export=NONE`. The stage removes all of them from the program's environment: one
// that is left there says that the node had no plugin.

/// The user's defaults for the SPEC; not removed by srun, removed by the stage.
constexpr std::string_view kDefaultSpecVariable = "SLURM_DISTINIT";
/// The merged SPEC of this step.
constexpr std::string_view kSpecVariable = "SLURM_DISTINIT_SPEC";
/// The step's secret, 64 hexadecimal digits, minted by srun for this step alone.
constexpr std::string_view kSecretVariable = "SLURM_DISTINIT_SECRET";
/// "JOB.STEP" the secret was minted for; another value means that it was inherited from an outer
/// step.
constexpr std::string_view kStepVariable = "SLURM_DISTINIT_STEP";
/// Name of the node that holds rank 0, from the step's layout; unset where srun could not tell.
constexpr std::string_view kRootNodeVariable = "SLURM_DISTINIT_ROOT";
/// That node's NodeAddr as the controller has it (a name or an address); may be unset.
constexpr std::string_view kRootAddressVariable = "SLURM_DISTINIT_ROOT_ADDR";
/// CLOCK_REALTIME in nanoseconds when srun was about to launch; for the report of phases only.
constexpr std::string_view kStartTimeVariable = "SLURM_DISTINIT_START_NS";
/// "user" where the user has said how CPUs are bound, by --cpu-bind or SLURM_CPU_BIND; else unset.
constexpr std::string_view kCpuBindVariable = "SLURM_DISTINIT_CPU_BIND";
constexpr std::string_view kCpuBindUser = "user";

/// Slurm's own variable that carries our option from sbatch and salloc into the sruns inside.
constexpr std::string_view kOptionVariable = "SLURM_SPANK__SLURM_SPANK_OPTION_distinit_distinit";

/// True for every variable above: none of them is for the program.
bool is_private_variable(std::string_view name);

// ---- starting the agent
// ----------------------------------------------------------------------------------- `HELPER
// agent` gets the listening unix socket as descriptor 3 and the write end of a pipe as descriptor
// 4: it writes one byte there when it is ready, or closes it when it fails, having said why on
// stderr. Its environment is local task 0's, with every LD_* variable renamed so that the user's
// libraries stay out of it.
constexpr int kAgentListenFd = 3;
constexpr int kAgentReadyFd = 4;
/// The byte that says instead: not ready, and the user has been told why. Any other byte: ready. No
/// byte at all: the agent died, and the plugin speaks.
constexpr char kAgentHasReported = 'E';
constexpr std::string_view kSavedPrefix = "DISTINIT_SAVED_";

/// The entries with LD_X=… renamed to DISTINIT_SAVED_LD_X=….
std::vector<std::string> agent_environment(const std::vector<std::string>& entries);

// ---- the stage's descriptors
// -------------------------------------------------------------------------------- argv[0] of the
// task is /proc/self/fd/N with N the stage's own file; N + 1 is the socket to the agent. Nothing
// else tells the stage anything: a container plugin may replace the whole environment before it
// runs.
constexpr std::string_view kStagePathPrefix = "/proc/self/fd/";
constexpr int kStageFirstFd = 700;

/// N of "/proc/self/fd/N"; -1 for anything else.
int stage_fd_from_path(std::string_view argv0);

// ---- messages, as frames (lib/base/frame.h) whose first byte is the kind
// -------------------------------------
enum class TaskMessage : uint8_t {
  kHello = 1,   ///< task to agent: who I am
  kGo = 2,      ///< agent to stage: apply this and exec
  kFail = 3,    ///< agent to stage: end with this status; the message has been printed
  kExited = 4,  ///< stage that stayed as parent, to agent: the program has ended
  kEnd = 5,     ///< agent to that stage: you may end
  kWait = 6,    ///< agent to stage, first: wait this many milliseconds for kGo or kFail, not longer
  kReport =
      7,  ///< stage to agent: the program can't be run; kEnd answers when that has been printed
};

/// What the plugin's task_init (or `distinit exec`) says first, while the task still has its own
/// environment.
struct Hello {
  int rank = 0;        ///< SLURM_PROCID
  int local_rank = 0;  ///< SLURM_LOCALID
  /// The program as argv[0] had it, where argv[0] was replaced; empty where the stage was put in
  /// front.
  std::string program;
  /// "NAME=value" of the variables that differ between the tasks of a node, see kPerTaskVariables.
  std::vector<std::string> environment;

  bool operator==(const Hello&) const = default;
};

/// Slurm's variables that may differ between the tasks of one node.
extern const std::vector<std::string_view> kPerTaskVariables;

/// Raise a soft limit (RLIMIT_* number) up to `value`, or to the hard limit where that is lower.
struct LimitRequest {
  int resource = 0;
  uint64_t value = 0;

  bool operator==(const LimitRequest&) const = default;
};

struct Go {
  std::string program;             ///< Hello's, given back
  std::vector<std::string> set;    ///< "NAME=value"
  std::vector<std::string> unset;  ///< names
  std::vector<LimitRequest> limits;
  /// CPUs to run on, as a list ("0-3,8"), as far as the task may; empty: leave the mask.
  std::string cpus;
  /// NUMA node whose memory is preferred; -1: leave the policy.
  int32_t memory_node = -1;
  /// Stay as the program's parent, and end only after kEnd, the agent's end, or `linger_ms` after
  /// the program's.
  bool stay = false;
  uint32_t linger_ms = 0;
  std::string who;  ///< "rank 3 on n2", for messages

  bool operator==(const Go&) const = default;
};

/// Each encode gives a whole frame; each decode takes a frame's content and fails on anything but
/// an exact match.
std::string encode_hello(const Hello& hello);
Result<Hello> decode_hello(std::string_view message);
std::string encode_go(const Go& go);
Result<Go> decode_go(std::string_view message);
/// Why the program can't be run, for the agent to print once for all ranks that say the same.
struct Report {
  std::string what;
  std::string hint;

  bool operator==(const Report&) const = default;
};

std::string encode_report(const Report& report);
Result<Report> decode_report(std::string_view message);
/// kFail, kExited and kWait carry one number: an exit status, a wait status, milliseconds.
std::string encode_number(TaskMessage kind, uint32_t number);
Result<uint32_t> decode_number(TaskMessage kind, std::string_view message);
std::string encode_end();
/// The kind of a frame's content; 0 for an empty one.
uint8_t message_kind(std::string_view message);

}  // namespace distinit
