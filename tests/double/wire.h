// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages between the ranks and the hub of a unique id, and socket calls that can be woken.

#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include <netinet/in.h>
#include <signal.h>

#include "tests/double/nccl_types.h"

namespace nccl_double {

// A unique id: magic, address, zeros. As in the real library.
struct IdContent {
  uint64_t magic;
  sockaddr_in address;
};

enum HelloKind : int32_t { kJoin = 1, kCheckIn = 2 };

// A check-in carries the position in the slice as `rank` and the size of the slice as `size`.
struct Hello {
  uint64_t magic;
  HelloKind kind;
  int32_t rank;
  int32_t size;
  int32_t root;  // index of the id in the array of a scalable init
  int32_t version;
  int32_t device;
  int32_t device_is_known;
  int32_t process;
  uint64_t host;  // hash of the host's name
  uint64_t bus;   // hash of the device's address
};

enum Reason : int32_t { kNoReason, kRanksDisagree, kRankTwice, kDuplicateDevice, kOtherVersion };

struct Answer {
  ncclResult_t result;
  Reason reason;
  int32_t first;  // the two ranks that the reason is about
  int32_t second;
};

// One per rank, after a good answer to a join.
struct Peer {
  uint64_t host;
  int64_t device;
};

enum RequestKind : int32_t { kReduce = 1, kSplit = 2 };

// `bytes` of payload follow: the elements, or the id offered for a new group.
struct Request {
  uint64_t sequence;
  uint64_t count;
  uint64_t bytes;
  RequestKind kind;
  int32_t datatype;
  int32_t op;
  int32_t color;
  int32_t key;
  int32_t unused;
};

// `bytes` of payload follow: the sum, or the id of the new group.
struct Reply {
  uint64_t bytes;
  ncclResult_t result;
  int32_t new_rank;
  int32_t new_size;
  int32_t unused;
};

// Readable for good once woken: what ends every wait of a communicator that is aborted.
class Wake {
 public:
  Wake();
  ~Wake();
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;
  void wake() const;
  int fd() const { return fd_; }

 private:
  int fd_;
};

enum class Outcome { kDone, kWoken, kClosed, kTimedOut };

// Waits for `events` on `fd` (-1: only for the wake or the time); timeout_ms -1 is for ever.
Outcome wait_ready(int fd, short events, const Wake& wake, int timeout_ms);
Outcome send_all(int fd, const void* data, size_t size, const Wake& wake);
Outcome receive_all(int fd, void* data, size_t size, const Wake& wake);

// On kClosed `error` says why; the caller owns `fd` on kDone.
Outcome connect_to(const sockaddr_in& address, const Wake& wake, int& fd, int& error);

// The address that ids carry; false where NCCL_SOCKET_IFNAME names no interface that is up.
bool find_interface(sockaddr_in& address);
std::string address_text(const sockaddr_in& address);

uint64_t hash_text(const std::string& text);
std::string host_identity();  // NCCL_HOSTID, or host name and boot id
const char* environment(const char* name, const char* otherwise);
int environment_number(const char* name, int otherwise);
size_t element_size(int datatype);  // 0: not supported

// Threads of the double take no signals: those belong to the program under test.
template <typename Work>
std::thread start_quiet_thread(Work work) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(work));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace nccl_double
