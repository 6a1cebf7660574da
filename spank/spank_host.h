// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the plugin needs of the Slurm process that loaded it, without Slurm's types: tests put a
// fake in its place, and only spank_host.cc and hooks.cc know spank.h.

#include <optional>
#include <string>
#include <vector>

#include <stdint.h>

struct spank_handle;

namespace distinit {

/// Which process this is.
enum class HostContext {
  kSrun,
  kAllocator,  ///< sbatch, salloc, scrontab
  kStepd,      ///< slurmstepd and its task children
  kSlurmd,
  kOther,  ///< prolog, epilog, or unknown
};

/// Numbers that Slurm knows. In srun they are there from local_user_init on; in a het step they
/// describe one component.
enum class HostItem { kJobId, kStepId, kTotalTasks, kLocalTasks, kLocalTaskId };

/// Slurm calls it back with the value after "--distinit=" (null where there is none); `remote` is
/// not 0 in slurmstepd.
using OptionCallback = int (*)(int value, const char* argument, int remote);

class SpankHost {
 public:
  virtual ~SpankHost() = default;

  virtual HostContext context() const = 0;
  /// nullopt where Slurm does not have it in this hook.
  virtual std::optional<uint32_t> item(HostItem item) const = 0;

  /// The environment that the job will have: srun's own in srun, the task's in slurmstepd. False
  /// when a variable could not be set; values of 128 KiB are refused by Slurm and by the kernel.
  virtual std::vector<std::string> environment() const = 0;
  virtual bool set_env(const std::string& name, const std::string& value) = 0;
  virtual void unset_env(const std::string& name) = 0;

  /// The step's argv in slurmstepd, Slurm's own array; null where there is none.
  virtual char** job_argv() const = 0;
  /// The words on srun's command line before the program.
  virtual std::vector<std::string> command_options() const = 0;

  /// Only in init. False when Slurm refused it.
  virtual bool register_option(OptionCallback callback) = 0;

  /// To the user's stderr; in slurmstepd before user_init, and in slurmd, to the daemon's log.
  virtual void error(const std::string& line) = 0;
  /// To the daemon's log only.
  virtual void info(const std::string& line) = 0;

  /// Slurm's handle, for launch_prepend.cc alone.
  virtual spank_handle* handle() const = 0;
};

/// The real one, valid for one call of a hook. `handle` may be null in an option's callback.
class SlurmHost final : public SpankHost {
 public:
  explicit SlurmHost(spank_handle* handle) : handle_(handle) {}

  HostContext context() const override;
  std::optional<uint32_t> item(HostItem item) const override;
  std::vector<std::string> environment() const override;
  bool set_env(const std::string& name, const std::string& value) override;
  void unset_env(const std::string& name) override;
  char** job_argv() const override;
  std::vector<std::string> command_options() const override;
  bool register_option(OptionCallback callback) override;
  void error(const std::string& line) override;
  void info(const std::string& line) override;
  spank_handle* handle() const override { return handle_; }

 private:
  spank_handle* handle_;
};

}  // namespace distinit
