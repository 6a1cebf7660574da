// SPDX-License-Identifier: Apache-2.0
#include "spank/spank_host.h"

#include "lib/base/fd.h"
#include "lib/base/text.h"

#include <getopt.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

// spank.h declares some of its functions outside its own extern "C" block.
extern "C" {
#include <slurm/spank.h>
}

namespace distinit {

namespace {

/// Slurm drops a longer variable and reports success (22.05); the kernel's limit for one string is
/// the same.
constexpr size_t kLongestVariable = 131072 - 1;

std::optional<uint32_t> read_number(spank_handle* handle, spank_item_t item) {
  uint32_t number = 0;
  if (spank_get_item(handle, item, &number) != ESPANK_SUCCESS) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

HostContext SlurmHost::context() const {
  switch (spank_context()) {
    case S_CTX_LOCAL:
      return HostContext::kSrun;
    case S_CTX_ALLOCATOR:
      return HostContext::kAllocator;
    case S_CTX_REMOTE:
      return HostContext::kStepd;
    case S_CTX_SLURMD:
      return HostContext::kSlurmd;
    default:
      return HostContext::kOther;
  }
}

std::optional<uint32_t> SlurmHost::item(HostItem item) const {
  switch (item) {
    case HostItem::kJobId:
      return read_number(handle_, S_JOB_ID);
    case HostItem::kStepId:
      return read_number(handle_, S_JOB_STEPID);
    case HostItem::kTotalTasks:
      return read_number(handle_, S_JOB_TOTAL_TASK_COUNT);
    case HostItem::kLocalTasks:
      return read_number(handle_, S_JOB_LOCAL_TASK_COUNT);
    case HostItem::kLocalTaskId:
      return read_number(handle_, S_TASK_ID);
  }
  return std::nullopt;
}

std::vector<std::string> SlurmHost::environment() const {
  char** entries = environ;
  if (context() == HostContext::kStepd &&
      spank_get_item(handle_, S_JOB_ENV, &entries) != ESPANK_SUCCESS) {
    entries = nullptr;
  }
  std::vector<std::string> out;
  for (; entries != nullptr && *entries != nullptr; ++entries) {
    out.emplace_back(*entries);
  }
  return out;
}

bool SlurmHost::set_env(const std::string& name, const std::string& value) {
  if (name.size() + 1 + value.size() > kLongestVariable) {
    return false;
  }
  return context() == HostContext::kStepd
             ? spank_setenv(handle_, name.c_str(), value.c_str(), 1) == ESPANK_SUCCESS
             : setenv(name.c_str(), value.c_str(), 1) == 0;
}

void SlurmHost::unset_env(const std::string& name) {
  if (context() == HostContext::kStepd) {
    spank_unsetenv(handle_, name.c_str());
  } else {
    unsetenv(name.c_str());
  }
}

char** SlurmHost::job_argv() const {
  int count = 0;
  char** argv = nullptr;
  const bool found = spank_get_item(handle_, S_JOB_ARGV, &count, &argv) == ESPANK_SUCCESS;
  return found && count > 0 ? argv : nullptr;
}

std::vector<std::string> SlurmHost::command_options() const {
  const auto command_line = read_file("/proc/self/cmdline", size_t{8} << 20);
  if (!command_line) {
    return {};
  }
  std::vector<std::string> out;
  for (const std::string_view word : split(*command_line, '\0')) {
    // srun has parsed its command line by now, and stopped at the program.
    if (out.size() >= static_cast<size_t>(optind)) {
      break;
    }
    out.emplace_back(word);
  }
  return out;
}

bool SlurmHost::register_option(OptionCallback callback) {
  // Slurm copies it; the fields are not const in its struct only because it is C.
  char name[] = "distinit";
  char argument[] = "SPEC";
  char usage[] =
      "[distinit] start a distributed training job: ranks, store and groups ready "
      "in every task; SPEC is e.g. tp2,dp2 (see distinit(7))";
  spank_option option{name, argument, usage, 2, 0, callback};
  return spank_option_register(handle_, &option) == ESPANK_SUCCESS;
}

void SlurmHost::error(const std::string& line) {
  slurm_error("%s", line.c_str());
}

void SlurmHost::info(const std::string& line) {
  slurm_info("%s", line.c_str());
}

}  // namespace distinit
