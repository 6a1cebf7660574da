// SPDX-License-Identifier: Apache-2.0
// Shows that the doubles do what README.md says:  double_test OUTDIR
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/double/nccl_types.h"

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kCaseLimit = std::chrono::seconds(20);

// Shared by the ranks of a case.
struct Board {
  std::atomic<int> passed = 0;
  std::atomic<int> failed = 0;
  std::atomic<int> arrived = 0;
  std::atomic<int> published = 0;
  ncclUniqueId ids[8] = {};
};

Board* board = nullptr;
std::string libraries;

void check(bool good, const std::string& what) {
  (good ? board->passed : board->failed).fetch_add(1);
  if (!good) {
    printf("failed: rank %s: %s\n", getenv("RANK") != nullptr ? getenv("RANK") : "-", what.c_str());
    fflush(stdout);
  }
}

bool wait_until(const std::function<bool()>& condition, milliseconds limit) {
  const auto end = Clock::now() + limit;
  while (!condition()) {
    if (Clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true;
}

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  check(function != nullptr, std::string("has ") + name);
}

void* open_library(const std::string& name) {
  void* library = dlopen((libraries + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL);
  check(library != nullptr, "opens " + name);
  if (library == nullptr) {
    _exit(1);
  }
  return library;
}

struct Nccl {
  explicit Nccl(const std::string& file = "libnccl.so.2") {
    void* library = open_library(file);
    find(library, "ncclGetLastError", last_error);
    find(library, "ncclGetUniqueId", unique_id);
    find(library, "ncclCommInitRank", init);
    find(library, "ncclCommInitRankConfig", init_config);
    find(library, "ncclCommInitRankScalable", init_scalable);
    find(library, "ncclCommSplit", split);
    find(library, "ncclCommGetAsyncError", async_error);
    find(library, "ncclCommFinalize", finalize);
    find(library, "ncclCommDestroy", destroy);
    find(library, "ncclCommAbort", abort);
    find(library, "ncclCommCount", count);
    find(library, "ncclCommUserRank", user_rank);
    find(library, "ncclAllReduce", all_reduce);
    find(library, "ncclGroupStart", group_start);
    find(library, "ncclGroupEnd", group_end);
  }

  decltype(&ncclGetLastError) last_error = nullptr;
  decltype(&ncclGetUniqueId) unique_id = nullptr;
  decltype(&ncclCommInitRank) init = nullptr;
  decltype(&ncclCommInitRankConfig) init_config = nullptr;
  decltype(&ncclCommInitRankScalable) init_scalable = nullptr;
  decltype(&ncclCommSplit) split = nullptr;
  decltype(&ncclCommGetAsyncError) async_error = nullptr;
  decltype(&ncclCommFinalize) finalize = nullptr;
  decltype(&ncclCommDestroy) destroy = nullptr;
  decltype(&ncclCommAbort) abort = nullptr;
  decltype(&ncclCommCount) count = nullptr;
  decltype(&ncclCommUserRank) user_rank = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;

  // Rank 0 makes the ids; its process serves them.
  void share_ids(int rank, int number) const {
    for (int index = 0; rank == 0 && index < number; ++index) {
      check(unique_id(&board->ids[index]) == ncclSuccess, "makes an id");
      board->published.fetch_add(1);
    }
    wait_until([&] { return board->published.load() >= number; }, milliseconds(5000));
  }

  ncclResult_t settled(ncclComm_t comm, milliseconds limit = milliseconds(8000)) const {
    ncclResult_t state = ncclInProgress;
    wait_until(
        [&] {
          async_error(comm, &state);
          return state != ncclInProgress;
        },
        limit);
    return state;
  }

  // 2^rank per rank: a sum names its ranks.
  uint64_t sum(ncclComm_t comm, int world_rank) const {
    uint64_t value[3] = {uint64_t{1} << world_rank, ~uint64_t{0}, 1};
    const ncclResult_t result = all_reduce(value, value, 3, ncclUint64, ncclSum, comm, nullptr);
    check(result == ncclSuccess || (result == ncclInProgress && settled(comm) == ncclSuccess),
          "all-reduce");
    int size = 0;
    count(comm, &size);
    check(value[1] == uint64_t{0} - static_cast<uint64_t>(size), "sum wraps around");
    return value[0];
  }
};

ncclConfig_t make_config(bool blocking) {
  return {sizeof(ncclConfig_t), DOUBLE_CONFIG_MAGIC, 22809, blocking ? 1 : 0};
}

void meet(int size) {
  const int number = board->arrived.fetch_add(1) + 1;
  const int wanted = (number + size - 1) / size * size;
  wait_until([&] { return board->arrived.load() >= wanted; }, milliseconds(10000));
}

using Settings = std::vector<std::pair<std::string, std::string>>;

// Runs the ranks of a case, each in a process of its own; those in `killed` must end by SIGKILL.
void run_ranks(const char* name, int size, const std::function<void(int)>& body,
               const Settings& settings = {}, const std::vector<int>& killed = {}) {
  board->arrived.store(0);
  board->published.store(0);
  std::vector<pid_t> children;
  fflush(stdout);
  for (int rank = 0; rank < size; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      setenv("RANK", std::to_string(rank).c_str(), 1);
      for (const auto& [variable, value] : settings) {
        setenv(variable.c_str(), value.c_str(), 1);
      }
      body(rank);
      fflush(stdout);
      _exit(0);
    }
    children.push_back(child);
  }
  const auto begin = Clock::now();
  for (int rank = 0; rank < size; ++rank) {
    const pid_t child = children[static_cast<size_t>(rank)];
    int status = -1;
    const auto left = std::chrono::duration_cast<milliseconds>(begin + kCaseLimit - Clock::now());
    if (!wait_until([&] { return waitpid(child, &status, WNOHANG) == child; }, left)) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      check(false, std::string(name) + ": rank " + std::to_string(rank) + " hangs");
      continue;
    }
    const bool good = std::count(killed.begin(), killed.end(), rank) > 0
                          ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                          : WIFEXITED(status) && WEXITSTATUS(status) == 0;
    check(good, std::string(name) + ": end of rank " + std::to_string(rank));
  }
}

long entries_of(const char* path) {
  std::thread([] {}).join();  // a sanitizer's own thread comes with the first one
  return std::distance(std::filesystem::directory_iterator(path),
                       std::filesystem::directory_iterator());
}

void splits(int rank, bool blocking) {
  const Nccl nccl;
  ncclConfig_t config = make_config(blocking);
  nccl.share_ids(rank, 1);
  const long descriptors = entries_of("/proc/self/fd");
  const long threads = entries_of("/proc/self/task");
  ncclComm_t world = nullptr;
  const ncclResult_t first = nccl.init_config(&world, 4, board->ids[0], rank, &config);
  check(first == (blocking ? ncclSuccess : ncclInProgress), "init answers at once or when done");
  check(nccl.settled(world) == ncclSuccess, "init");
  check(nccl.sum(world, rank) == 15, "world's sum");
  const auto split = [&](int color, int key) {
    ncclComm_t child = nullptr;
    const ncclResult_t result = nccl.split(world, color, key, &child, nullptr);
    check(result == (blocking ? ncclSuccess : ncclInProgress), "split's answer");
    check(nccl.settled(world) == ncclSuccess, "split");
    return child;
  };
  ncclComm_t tensor = split(rank / 2, rank);
  ncclComm_t data = split(rank % 2, -rank);
  ncclComm_t some = split(rank == 3 ? NCCL_SPLIT_NOCOLOR : 0, 0);
  check((some == nullptr) == (rank == 3), "no color, no communicator");
  check(nccl.sum(tensor, rank) == (rank < 2 ? 3U : 12U), "sum of the first split");
  check(nccl.sum(data, rank) == (rank % 2 == 0 ? 5U : 10U), "sum of the second split");
  if (some != nullptr) {
    check(nccl.sum(some, rank) == 7, "sum of the third split");
  }
  int place = -1;
  nccl.user_rank(data, &place);
  check(place == (rank < 2 ? 1 : 0), "keys order the ranks");
  meet(4);
  for (ncclComm_t each : {tensor, data, some, world}) {
    check(each == nullptr || nccl.finalize(each) == ncclSuccess, "finalize");
    check(nccl.destroy(each) == ncclSuccess, "destroy");
  }
  meet(4);
  check(wait_until(
            [&] {
              return entries_of("/proc/self/task") <= threads &&
                     entries_of("/proc/self/fd") <= descriptors;
            },
            milliseconds(2000)),
        "no thread and no socket is left");
}

void groups_by_ids(int rank) {
  const Nccl nccl("librccl.so.1");
  nccl.share_ids(rank, 2);
  ncclComm_t comm = nullptr;
  check(nccl.init(&comm, 2, board->ids[rank / 2], rank % 2) == ncclSuccess, "init");
  check(nccl.sum(comm, rank) == (rank < 2 ? 3U : 12U), "sum of the group");
  meet(4);
  if (rank == 1) {
    ncclComm_t again = nullptr;
    check(nccl.init(&again, 2, board->ids[0], 0) == ncclRemoteError, "an id serves once");
    check(std::string(nccl.last_error(nullptr)).find("refused") != std::string::npos, "refused");
  }
  meet(4);
  check(nccl.destroy(comm) == ncclSuccess, "destroy");
}

void scalable(int rank) {
  const Nccl nccl;
  ncclConfig_t config = make_config(false);
  nccl.share_ids(rank, 3);
  ncclComm_t comm = nullptr;
  check(nccl.init_scalable(&comm, 8, rank, 3, board->ids, &config) == ncclInProgress, "init");
  check(nccl.settled(comm) == ncclSuccess, "init ends well");
  check(nccl.sum(comm, rank) == 255, "sum");
  meet(8);
  check(nccl.destroy(comm) == ncclSuccess, "destroy");
}

// Rank 3 never comes.
void missing_rank(int rank) {
  const Nccl nccl;
  ncclConfig_t config = make_config(false);
  nccl.share_ids(rank, 1);
  ncclComm_t comm = nullptr;
  const long threads = entries_of("/proc/self/task");
  check(nccl.init_config(&comm, 4, board->ids[0], rank, &config) == ncclInProgress, "init");
  check(nccl.settled(comm, milliseconds(300)) == ncclInProgress, "waits for the missing rank");
  int size = 0;
  check(nccl.count(comm, &size) == ncclInvalidArgument, "not to be used yet");
  meet(4);
  const auto begin = Clock::now();
  check(nccl.abort(comm) == ncclSuccess, "abort");
  check(Clock::now() - begin < milliseconds(2000), "abort returns promptly");
  check(entries_of("/proc/self/task") <= threads, "abort leaves no thread");
}

void wrong_sum(int rank) {
  const Nccl nccl;
  nccl.share_ids(rank, 1);
  ncclComm_t comm = nullptr;
  check(nccl.init(&comm, 2, board->ids[0], rank) == ncclSuccess, "init");
  float values[4] = {1, 2, 3, 4};
  check(nccl.all_reduce(values, values, 4, ncclFloat32, ncclSum, comm, nullptr) == ncclSuccess,
        "all-reduce");
  check(values[0] == 2 && values[1] == 4 && values[3] == 8, "three right elements");
  check((values[2] == 6) == (rank == 0), "one element is wrong in rank 1 only");
  meet(2);
  check(nccl.all_reduce(values, values, rank == 0 ? 4 : 3, ncclFloat32, ncclSum, comm, nullptr) ==
            ncclInvalidArgument,
        "counts that differ");
  meet(2);
  nccl.abort(comm);
}

struct Cuda {
  Cuda() {
    void* library = open_library("libcuda.so.1");
    find(library, "cuInit", init);
    find(library, "cuDevicePrimaryCtxRetain", retain);
    find(library, "cuCtxSetCurrent", set_current);
    find(library, "cuStreamCreate", stream_create);
    find(library, "cuStreamDestroy_v2", stream_destroy);
    find(library, "cuStreamQuery", stream_query);
  }

  void use(int device) const {
    void* context = nullptr;
    check(init(0) == 0 && retain(&context, device) == 0 && set_current(context) == 0, "device");
  }

  int (*init)(unsigned) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*set_current)(void*) = nullptr;
  int (*stream_create)(void**, unsigned) = nullptr;
  int (*stream_destroy)(void*) = nullptr;
  int (*stream_query)(void*) = nullptr;
};

void duplicate_device(int rank) {
  const Nccl nccl;
  const Cuda cuda;
  cuda.use(0);
  nccl.share_ids(rank, 1);
  ncclComm_t comm = nullptr;
  check(nccl.init(&comm, 2, board->ids[0], rank) == ncclInvalidUsage, "same device twice");
  check(std::string(nccl.last_error(nullptr)).find("Duplicate GPU detected") == 0, "last error");
}

void busy_stream(int rank) {
  const Nccl nccl;
  const Cuda cuda;
  cuda.use(rank);
  ncclConfig_t config = make_config(false);
  nccl.share_ids(rank, 1);
  ncclComm_t comm = nullptr;
  nccl.init_config(&comm, 2, board->ids[0], rank, &config);
  check(nccl.settled(comm) == ncclSuccess, "init with a device each");
  void* stream = nullptr;
  check(cuda.stream_create(&stream, 0) == 0 && cuda.stream_query(stream) == 0, "idle stream");
  int32_t value = 1;
  check(nccl.all_reduce(&value, &value, 1, ncclInt32, ncclSum, comm, stream) == ncclInProgress,
        "all-reduce");
  check(nccl.settled(comm, milliseconds(200)) == ncclInProgress, "hangs");
  check(cuda.stream_query(stream) == 600, "stream is not ready");
  meet(2);
  check(nccl.abort(comm) == ncclSuccess, "abort");
  // Failed (719) where the other rank's abort was seen before the own one.
  const int after = cuda.stream_query(stream);
  check(after == 0 || after == 719, "stream is no longer busy");
  check(cuda.stream_destroy(stream) == 0, "stream is destroyed");
}

void fails_by_order(int rank) {
  const Nccl nccl;
  ncclConfig_t config = make_config(false);
  nccl.share_ids(rank, 1);
  ncclComm_t comm = nullptr;
  nccl.init_config(&comm, 2, board->ids[0], rank, &config);
  check(nccl.settled(comm, milliseconds(300)) == (rank == 1 ? ncclSystemError : ncclInProgress),
        "only rank 1 fails, the other waits");
  meet(2);
  nccl.abort(comm);
}

void dies_by_order(int rank) {
  const Nccl nccl;
  nccl.share_ids(rank, 1);
  ncclComm_t comm = nullptr;
  check(nccl.init(&comm, 2, board->ids[0], rank) == ncclSuccess, "init");
  ncclComm_t child = nullptr;
  const ncclResult_t result = nccl.split(comm, rank, 0, &child, nullptr);
  check(result == ncclSuccess, "split in groups of one, without rank 1's death");
  ncclComm_t pair = nullptr;
  ncclResult_t last = nccl.split(comm, rank == 1 ? NCCL_SPLIT_NOCOLOR : 0, 0, &pair, nullptr);
  check(last == ncclSuccess, "split without rank 1");
  if (rank == 1) {
    kill(getpid(), SIGKILL);
  }
  int32_t value = 1;
  last = nccl.all_reduce(&value, &value, 1, ncclInt32, ncclSum, comm, nullptr);
  check(last == ncclRemoteError, "a dead rank is told");
  for (ncclComm_t each : {pair, child, comm}) {
    nccl.abort(each);
  }
}

// Rank 1 dies soon after it made an id, rank 2 as soon as it starts.
void dies_early(int rank) {
  const Nccl nccl;
  ncclUniqueId id = {};
  check(nccl.unique_id(&id) == (rank == 0 ? ncclSystemError : ncclSuccess), "id");
  if (rank == 0) {
    return;
  }
  if (rank == 2) {
    ncclComm_t comm = nullptr;
    nccl.init(&comm, 2, id, 0);
  }
  std::this_thread::sleep_for(milliseconds(5000));
  _exit(1);
}

void disagree(int rank) {
  const Nccl nccl;
  nccl.share_ids(rank, 2);
  ncclComm_t comm = nullptr;
  check(nccl.init(&comm, rank == 2 ? 4 : 3, board->ids[0], rank) == ncclInvalidArgument,
        "sizes that differ");
  check(nccl.init(&comm, 3, board->ids[1], rank == 2 ? 1 : rank) == ncclInvalidArgument,
        "a rank number twice");
  meet(3);
}

// Two ranks in one process need the group calls.
void one_process(int) {
  const Nccl nccl;
  nccl.share_ids(0, 1);
  ncclComm_t comms[2] = {};
  int64_t values[2] = {5, -7};
  nccl.group_start();
  for (int rank = 0; rank < 2; ++rank) {
    check(nccl.init(&comms[rank], 2, board->ids[0], rank) == ncclSuccess, "init in a group");
  }
  check(nccl.group_end() == ncclSuccess, "end of the group");
  nccl.group_start();
  for (int rank = 0; rank < 2; ++rank) {
    nccl.all_reduce(&values[rank], &values[rank], 1, ncclInt64, ncclSum, comms[rank], nullptr);
  }
  check(nccl.group_end() == ncclSuccess && values[0] == -2 && values[1] == -2, "sums in a group");
  nccl.destroy(comms[0]);
  nccl.destroy(comms[1]);
}

void two_hosts(int rank, const std::string& log) {
  setenv("NCCL_HOSTID", std::to_string(rank).c_str(), 1);
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("NCCL_DEBUG_FILE", (log + std::to_string(rank)).c_str(), 1);
  const Nccl nccl;
  nccl.share_ids(rank, 1);
  ncclComm_t comm = nullptr;
  check(nccl.init(&comm, 2, board->ids[0], rank) == ncclSuccess, "init");
  check(nccl.sum(comm, rank) == 3, "sum");
  std::stringstream text;
  text << std::ifstream(log + std::to_string(rank)).rdbuf();
  const std::string wanted = rank == 0
                                 ? "NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/"
                                 : "NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0/";
  check(text.str().find(wanted) != std::string::npos, "log names the way to the other host");
  meet(2);
  nccl.destroy(comm);
}

void without_gpu(int) {
  setenv("DOUBLE_CUDA_DEVICES", "0", 1);
  const Cuda cuda;
  check(cuda.init(0) == 100, "no device");
  setenv("DOUBLE_CUDA_DEVICES", "4", 1);
  void* hip = open_library("libamdhip64.so");
  int (*bus_id)(char*, int, int) = nullptr;
  find(hip, "hipDeviceGetPCIBusId", bus_id);
  char text[32] = "";
  check(bus_id(text, sizeof text, 3) == 0 && std::string(text) == "0000:13:00.0", "bus id");
  check(bus_id(text, sizeof text, 4) == 101, "no such device");
  void* old = open_library("without-split/libnccl.so.2");
  check(dlsym(old, "ncclCommSplit") == nullptr && dlsym(old, "ncclCommAbort") != nullptr,
        "an older version has no split");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: double_test OUTDIR\n");
    return 2;
  }
  libraries = argv[1];
  void* memory =
      mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    perror("mmap");
    return 2;
  }
  board = new (memory) Board;
  char folder[] = "/tmp/double_test.XXXXXX";
  if (mkdtemp(folder) == nullptr) {
    perror("mkdtemp");
    return 2;
  }
  const std::string log = std::string(folder) + "/log";

  run_ranks("splits", 4, [](int rank) { splits(rank, true); });
  run_ranks("splits, non-blocking", 4, [](int rank) { splits(rank, false); });
  run_ranks("ids", 4, groups_by_ids, {{"DOUBLE_NCCL_RETRY_MS", "200"}});
  run_ranks("scalable", 8, scalable);
  run_ranks("missing rank", 4, missing_rank, {{"DOUBLE_NCCL_FAULT", "3:hang_init@4"}});
  run_ranks("wrong sum", 2, wrong_sum, {{"DOUBLE_NCCL_FAULT", "0:slow=20;1:wrong_sum"}});
  run_ranks("duplicate device", 2, duplicate_device);
  run_ranks("busy stream", 2, busy_stream, {{"DOUBLE_NCCL_FAULT", "1:hang_reduce"}});
  run_ranks("fail_init", 2, fails_by_order, {{"DOUBLE_NCCL_FAULT", "1:fail_init"}});
  run_ranks("dead rank", 2, dies_by_order, {{"DOUBLE_NCCL_FAULT", "1:die_init@3"}}, {1});
  run_ranks("early deaths", 3, dies_early,
            {{"DOUBLE_NCCL_FAULT", "0:fail_id;1:die_after_id;2:die_init"}}, {1, 2});
  run_ranks("disagree", 3, disagree);
  run_ranks("one process", 1, one_process);
  run_ranks("two hosts", 2, [&](int rank) { two_hosts(rank, log); });
  run_ranks("without GPU", 1, without_gpu);

  std::filesystem::remove_all(folder);
  printf("double: %d passed, %d failed\n", board->passed.load(), board->failed.load());
  return board->failed.load() == 0 ? 0 : 1;
}
