// SPDX-License-Identifier: Apache-2.0
#include "lib/nccl/check_run.h"

#include "lib/base/text.h"
#include "lib/nccl/trial.h"

#include <algorithm>

#include <sys/types.h>
#include <unistd.h>

namespace distinit {

namespace {

constexpr size_t kLongestLog = size_t{4} << 20;
constexpr size_t kMostTransports = 4;
/// For the communicators' end, after everything has been found good.
constexpr milliseconds kTeardown{10'000};

std::string read_log(int fd) {
  std::string text;
  char buffer[65536];
  ssize_t count = 0;
  while (text.size() < kLongestLog &&
         (count = pread(fd, buffer, sizeof buffer, static_cast<off_t>(text.size()))) > 0) {
    text.append(buffer, static_cast<size_t>(count));
  }
  return text;
}

}  // namespace

std::string transports_in(std::string_view log) {
  constexpr std::string_view kMark = " via ";
  std::vector<std::string> found;
  for (const std::string_view line : split(log, '\n')) {
    const size_t at = line.find(kMark);
    if (at == std::string_view::npos || line.find("Channel") == std::string_view::npos) {
      continue;
    }
    std::string name(line.substr(at + kMark.size()));
    name.resize(std::min(name.find_first_of(" \r"), name.size()));
    if (!name.empty() && std::find(found.begin(), found.end(), name) == found.end() &&
        found.size() < kMostTransports) {
      found.push_back(std::move(name));
    }
  }
  std::sort(found.begin(), found.end());
  return join(found, ",");
}

std::string refuse_environment(const Environment& environment) {
  return environment.has("NCCL_COMM_ID") ? "NCCL_COMM_ID is set: with it all groups of the step "
                                           "would meet at one port, and no id "
                                           "is worth anything"
                                         : "";
}

int device_of_rank(const Environment& environment, const RankIdentity& identity) {
  const std::string gpus = environment.get_or("DISTINIT_GPUS", "");
  return static_cast<int>(
      parse_number(split(gpus, ',').front(), 0, 4095).value_or(identity.local_rank));
}

CheckRun::CheckRun(Environment environment, int log_fd)
    : environment_(std::move(environment)), log_fd_(log_fd) {
  auto identity = read_rank_identity(environment_);
  if (!identity) {
    start_.outcome = CheckOutcome::kFailed;
    start_.what = identity.error().what;
    start_.hint = identity.error().hint;
    return;
  }
  identity_.emplace(std::move(*identity));
  start_.rank = identity_->rank;
  start_.gpu_pci = identity_->gpu_pci;
  start_.hcas = identity_->hcas;
}

milliseconds CheckRun::longest() const {
  return milliseconds((identity_ ? identity_->options.timeout_s : 0) * 1000LL) + kTeardown;
}

CheckResult CheckRun::failed(const BringUpFailure& failure) const {
  CheckResult result = start_;
  result.outcome = failure.is_unable        ? CheckOutcome::kUnable
                   : failure.is_consequence ? CheckOutcome::kConsequence
                                            : CheckOutcome::kFailed;
  result.what = failure.error.what;
  result.hint = failure.error.hint;
  return result;
}

CheckResult CheckRun::stuck() const {
  CheckResult result = start_;
  result.outcome = CheckOutcome::kFailed;
  result.what = concat(identity_ ? identity_->who() : "a rank",
                       ": a call of NCCL or of the GPU driver does not return");
  result.hint = concat("look at GPU ", start_.gpu_pci.empty() ? "?" : start_.gpu_pci,
                       " (`dmesg`, `nvidia-smi`) and at NCCL_DEBUG=INFO");
  return result;
}

CheckResult CheckRun::run() {
  if (!identity_) {
    return start_;
  }
  const Deadline deadline(milliseconds(identity_->options.timeout_s * 1000LL));
  const std::string refused = refuse_environment(environment_);
  std::string unable = refused;
  NcclLibrary library;
  std::unique_ptr<Gpu> gpu;
  if (unable.empty()) {
    if (auto opened = open_nccl(environment_)) {
      library = std::move(*opened);
      start_.library = library.path;
      start_.version = library.version;
      const int device = device_of_rank(environment_, *identity_);
      if (auto found = library.is_rccl ? open_hip(device) : open_cuda(device)) {
        gpu = std::move(*found);
        start_.gpu_pci = start_.gpu_pci.empty() ? gpu->bus_id() : start_.gpu_pci;
      } else {
        unable = found.error().what;
      }
    } else {
      unable = opened.error().what;
    }
  }
  Communicators comms({*identity_, library, "check", identity_->options.comms.split}, unable);
  if (auto failure = comms.bring_up(deadline)) {
    if (!refused.empty()) {
      failure->is_unable = false;
      failure->error.hint = "unset NCCL_COMM_ID, also in ~/.bashrc and in the sbatch script";
    }
    return failed(*failure);
  }
  CheckResult result = start_;
  result.by_split = comms.was_split();
  if (auto failure = try_all(comms, *gpu, library.api, deadline, result)) {
    comms.abort();
    return failed(*failure);
  }
  if (log_fd_ >= 0) {
    result.transport = transports_in(read_log(log_fd_));
  }
  comms.finalize(Deadline(kTeardown));
  return result;
}

std::optional<BringUpFailure> CheckRun::try_all(Communicators& comms, Gpu& gpu, const NcclApi& api,
                                                Deadline deadline, CheckResult& result) {
  const auto ground =
      TrialGround::create(gpu, identity_->options.check.size / sizeof(uint64_t) * sizeof(uint64_t));
  if (!ground) {
    Error error = with_context(ground.error(), identity_->who());
    comms.tell_failure(error);
    return BringUpFailure{std::move(error), false, false};
  }
  for (size_t i = 0; i < comms.groups().size(); ++i) {
    GroupFigures figures;
    if (auto failure = try_group(comms, *identity_, api, i, *ground, deadline, figures)) {
      return failure;
    }
    result.groups.push_back(std::move(figures));
  }
  return std::nullopt;
}

}  // namespace distinit
