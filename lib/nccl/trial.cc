// SPDX-License-Identifier: Apache-2.0
#include "lib/nccl/trial.h"

#include "lib/base/text.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace distinit {

namespace {

constexpr size_t kSmallBytes = 65'536;
/// Enough of the large result to see a wrong piece of any ring; the rest would cost host time.
constexpr size_t kVerifiedElements = 65'536;
constexpr int kSmallRounds = 20;
constexpr int kLargeRounds = 5;

/// The finalizer of splitmix64: every bit of the input changes half of the output's.
uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

uint64_t seed_of(std::string_view type, int index) {
  uint64_t seed = static_cast<uint64_t>(index);
  for (const char c : type) {
    seed = mix(seed ^ static_cast<uint8_t>(c));
  }
  return seed;
}

uint64_t value_of(uint64_t seed, int rank, size_t element) {
  return mix(seed ^ mix(static_cast<uint64_t>(rank) << 32 ^ element));
}

}  // namespace

uint64_t trial_value(int rank, std::string_view type, int index, size_t element) {
  return value_of(seed_of(type, index), rank, element);
}

Result<TrialGround> TrialGround::create(Gpu& gpu, size_t bytes) {
  TrialGround ground(gpu, bytes);
  DISTINIT_ASSIGN_OR_RETURN(ground.in_, gpu.allocate(bytes));
  DISTINIT_ASSIGN_OR_RETURN(ground.out_, gpu.allocate(bytes));
  DISTINIT_ASSIGN_OR_RETURN(ground.stream_, gpu.make_stream());
  return ground;
}

TrialGround::TrialGround(TrialGround&& other) noexcept
    : gpu_(other.gpu_),
      bytes_(other.bytes_),
      in_(std::exchange(other.in_, nullptr)),
      out_(std::exchange(other.out_, nullptr)),
      stream_(std::exchange(other.stream_, nullptr)) {}

TrialGround::~TrialGround() {
  if (stream_ != nullptr) {
    gpu_->end_stream(stream_);
  }
  for (void* memory : {in_, out_}) {
    if (memory != nullptr) {
      gpu_->release(memory);
    }
  }
}

namespace {

class Trial {
 public:
  Trial(Communicators& comms, const RankIdentity& identity, const NcclApi& api, size_t i,
        const TrialGround& ground, Deadline deadline)
      : comms_(comms),
        identity_(identity),
        api_(api),
        comm_(comms.groups()[i]),
        ground_(ground),
        deadline_(deadline) {}

  std::optional<BringUpFailure> run(GroupFigures& figures) {
    const size_t small = std::min(kSmallBytes, ground_.bytes());
    if (auto failure = verify(ground_.bytes())) {
      return failure;
    }
    if (comm_.group.ranks.size() == 1) {
      return std::nullopt;
    }
    if (auto failure = measure(small, kSmallRounds, figures.small_gbps)) {
      return failure;
    }
    return measure(ground_.bytes(), kLargeRounds, figures.large_gbps);
  }

 private:
  std::optional<BringUpFailure> reduce(size_t bytes, bool is_repetition) {
    return comms_.run(
        comm_, "the all-reduce",
        [&] {
          return api_.all_reduce(ground_.in(), ground_.out(), bytes / sizeof(uint64_t), kNcclUint64,
                                 kNcclSum, comm_.comm, ground_.stream());
        },
        [&] { return ground_.gpu().is_idle(ground_.stream()); }, deadline_, is_repetition);
  }

  std::optional<BringUpFailure> verify(size_t bytes) {
    const size_t count = std::min(bytes / sizeof(uint64_t), kVerifiedElements);
    const uint64_t seed = seed_of(comm_.group.name, comm_.group.index);
    std::vector<uint64_t> values(count);
    for (size_t i = 0; i < count; ++i) {
      values[i] = value_of(seed, identity_.rank, i);
    }
    // The verified piece stands at the end: the last chunk of a ring is where a short one shows.
    const size_t at = bytes / sizeof(uint64_t) - count;
    const size_t piece = count * sizeof(uint64_t);
    auto* in = static_cast<char*>(ground_.in()) + at * sizeof(uint64_t);
    if (const auto copied = ground_.gpu().copy_in(in, values.data(), piece); !copied) {
      return failed(copied.error());
    }
    if (auto failure = reduce(bytes, false)) {
      return failure;
    }
    const auto* out = static_cast<const char*>(ground_.out()) + at * sizeof(uint64_t);
    if (const auto copied = ground_.gpu().copy_out(values.data(), out, piece); !copied) {
      return failed(copied.error());
    }
    for (size_t i = 0; i < count; ++i) {
      uint64_t sum = 0;
      for (const int rank : comm_.group.ranks) {
        sum += value_of(seed, rank, i);
      }
      if (sum != values[i]) {
        return wrong_sum(i, sum, values[i]);
      }
    }
    return std::nullopt;
  }

  std::optional<BringUpFailure> measure(size_t bytes, int rounds, double& gbps) {
    std::vector<double> seconds;
    for (int round = 0; round < rounds; ++round) {
      const auto begin = Clock::now();
      if (auto failure = reduce(bytes, true)) {
        return failure;
      }
      seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    }
    std::nth_element(seconds.begin(), seconds.begin() + rounds / 2, seconds.end());
    const double size = static_cast<double>(comm_.group.ranks.size());
    gbps = static_cast<double>(bytes) / seconds[static_cast<size_t>(rounds / 2)] * 2 * (size - 1) /
           size / 1e9;
    return std::nullopt;
  }

  BringUpFailure failed(const Error& error) {
    Error whole = with_context(error, concat(describe_group(comm_.group), ": ", identity_.who()));
    comms_.tell_failure(whole);
    return BringUpFailure{std::move(whole), false, false};
  }

  BringUpFailure wrong_sum(size_t element, uint64_t wanted, uint64_t got) {
    Error error{
        ErrorCode::kCommunicator,
        concat(describe_group(comm_.group), ": ", identity_.who(),
               ": the all-reduce gave a wrong sum, element ", element, " is ", got, " instead of ",
               wanted),
        concat("GPU ", identity_.gpu_pci.empty() ? "?" : identity_.gpu_pci,
               identity_.hcas.empty() ? "" : ", HCA ", identity_.hcas, " of ", identity_.node,
               " or one of another rank of the group gives wrong data: "
               "see `nvidia-smi -q` for ECC errors and the HCAs' error counters"),
        0};
    comms_.tell_failure(error);
    return BringUpFailure{std::move(error), false, false};
  }

  Communicators& comms_;
  const RankIdentity& identity_;
  const NcclApi& api_;
  const GroupComm& comm_;
  const TrialGround& ground_;
  Deadline deadline_;
};

}  // namespace

std::optional<BringUpFailure> try_group(Communicators& comms, const RankIdentity& identity,
                                        const NcclApi& api, size_t i, const TrialGround& ground,
                                        Deadline deadline, GroupFigures& figures) {
  const GroupComm& comm = comms.groups()[i];
  figures.name = comm.group.name;
  figures.index = comm.group.index;
  figures.position = comm.group.position;
  figures.size = static_cast<int>(comm.group.ranks.size());
  figures.seconds = comm.seconds;
  return Trial(comms, identity, api, i, ground, deadline).run(figures);
}

}  // namespace distinit
