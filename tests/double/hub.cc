// SPDX-License-Identifier: Apache-2.0
#include "tests/double/hub.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/double/fault.h"
#include "tests/double/reduce.h"
#include "tests/double/wire.h"

namespace nccl_double {
namespace {

using Clock = std::chrono::steady_clock;

// A rank that comes late to an id that failed still gets the reason, for this long.
constexpr auto kFailedIdStaysOpen = std::chrono::seconds(5);

struct Connection {
  explicit Connection(int socket) : fd(socket) {}
  ~Connection() { ::close(fd); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int fd;
  bool is_gone = false;
  bool is_member = false;  // its hello has been read
  bool has_request = false;
  Hello hello = {};
  Request request = {};
  std::string received;
};

class Hub {
 public:
  Hub(int listener, uint64_t magic) : listener_(listener), magic_(magic) {}
  ~Hub() { stop_listening(); }
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  void cancel() { wake_.wake(); }

  void run() {
    if (gather() && members_.front()->hello.kind == kJoin) {
      serve();
    }
  }

 private:
  // True once all ranks are in and have been told so.
  bool gather() {
    for (;;) {
      int timeout = -1;
      if (failure_.result != ncclSuccess) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(
            failed_at_ + kFailedIdStaysOpen - Clock::now());
        timeout = std::max(0, static_cast<int>(left.count()));
      }
      if (!poll_once(timeout)) {
        return false;
      }
      for (auto& each : members_) {
        if (!each->is_gone && !each->is_member && each->received.size() >= sizeof(Hello)) {
          admit(*each);
        }
      }
      // Strangers leave no trace. A rank that left keeps its seat: the others wait for it, as with
      // the real library.
      std::erase_if(members_, [](const auto& each) { return each->is_gone && !each->is_member; });
      const auto count = [this](auto predicate) {
        return std::count_if(members_.begin(), members_.end(),
                             [&](const auto& each) { return each->is_member && predicate(*each); });
      };
      const auto seated = count([](const Connection&) { return true; });
      const auto present = count([](const Connection& each) { return !each.is_gone; });
      if (seated > 0 && present == 0 && failure_.result == ncclSuccess) {
        return false;
      }
      if (failure_.result != ncclSuccess ? seated >= largest_size_
                                         : seated > 0 && present == largest_size_) {
        return failure_.result == ncclSuccess && complete();
      }
    }
  }

  void admit(Connection& newcomer) {
    memcpy(&newcomer.hello, newcomer.received.data(), sizeof(Hello));
    newcomer.received.erase(0, sizeof(Hello));
    const Hello& hello = newcomer.hello;
    if (hello.magic != magic_) {
      newcomer.is_gone = true;
      return;
    }
    Answer problem = {ncclSuccess, kNoReason, hello.rank, -1};
    for (const auto& each : members_) {
      if (!each->is_member) {
        continue;
      }
      const Hello& other = each->hello;
      problem.second = other.rank;
      if (other.version != hello.version) {
        problem.result = ncclInvalidUsage;
        problem.reason = kOtherVersion;
      } else if (other.kind != hello.kind || other.size != hello.size || other.root != hello.root) {
        problem.result = ncclInvalidArgument;
        problem.reason = kRanksDisagree;
      } else if (other.rank == hello.rank) {
        problem.result = ncclInvalidArgument;
        problem.reason = kRankTwice;
      }
      if (problem.result != ncclSuccess) {
        break;
      }
    }
    newcomer.is_member = true;
    largest_size_ = std::max(largest_size_, hello.size);
    if (failure_.result != ncclSuccess) {
      send_all(newcomer.fd, &failure_, sizeof failure_, wake_);
    } else if (problem.result != ncclSuccess) {
      fail(problem);
    }
  }

  void fail(const Answer& problem) {
    failure_ = problem;
    failed_at_ = Clock::now();
    for_each_own_process_last([&](Connection& each) {
      if (each.is_member) {
        send_all(each.fd, &problem, sizeof problem, wake_);
      }
    });
  }

  bool complete() {
    // Closed before the first rank can know: a second use of the id is refused for certain.
    stop_listening();
    std::erase_if(members_, [](const auto& each) { return !each->is_member; });
    std::sort(members_.begin(), members_.end(),
              [](const auto& a, const auto& b) { return a->hello.rank < b->hello.rank; });
    std::vector<Peer> peers;
    for (const auto& each : members_) {
      for (const auto& other : members_) {
        if (other == each) {
          break;
        }
        if (each->hello.kind == kJoin && each->hello.device_is_known != 0 &&
            other->hello.device_is_known != 0 && each->hello.host == other->hello.host &&
            each->hello.bus == other->hello.bus) {
          fail({ncclInvalidUsage, kDuplicateDevice, each->hello.rank, other->hello.rank});
          return false;
        }
      }
      peers.push_back({each->hello.host, each->hello.device});
    }
    const Answer good = {ncclSuccess, kNoReason, 0, 0};
    for_each_own_process_last([&](Connection& each) {
      send_all(each.fd, &good, sizeof good, wake_);
      send_all(each.fd, peers.data(), peers.size() * sizeof(Peer), wake_);
    });
    return true;
  }

  void serve() {
    for (;;) {
      bool all_asked = true;
      bool any_gone = false;
      bool all_gone = true;
      for (auto& each : members_) {
        read_request(*each);
        all_asked = all_asked && each->has_request;
        any_gone = any_gone || each->is_gone;
        all_gone = all_gone && each->is_gone;
      }
      if (all_gone) {
        return;
      }
      if (all_asked) {
        answer_requests();
        continue;
      }
      if (any_gone) {
        for (auto& each : members_) {
          if (each->has_request) {
            reply(*each, {0, ncclRemoteError, -1, 0, 0}, {});
          }
        }
      }
      if (!poll_once(-1)) {
        return;
      }
    }
  }

  static void read_request(Connection& member) {
    if (!member.has_request && member.received.size() >= sizeof(Request)) {
      memcpy(&member.request, member.received.data(), sizeof(Request));
      member.has_request = member.received.size() >= sizeof(Request) + member.request.bytes;
      if (member.has_request) {
        member.received.erase(0, sizeof(Request));
      }
    }
  }

  void answer_requests() {
    const Request& first = members_.front()->request;
    bool agree = true;
    for (const auto& each : members_) {
      const Request& other = each->request;
      agree = agree && other.sequence == first.sequence && other.kind == first.kind &&
              other.datatype == first.datatype && other.op == first.op &&
              other.count == first.count && other.bytes == first.bytes;
    }
    if (!agree) {
      for_each_own_process_last([this](Connection& each) {
        reply(each, {0, ncclInvalidArgument, -1, 0, 0}, {});
      });
    } else if (first.kind == kSplit) {
      answer_split();
    } else {
      std::string sum = members_.front()->received.substr(0, first.bytes);
      for (size_t rank = 1; rank < members_.size(); ++rank) {
        add_elements(first.datatype, members_[rank]->received.data(), sum);
      }
      const Reply good = {sum.size(), ncclSuccess, 0, 0, 0};
      for_each_own_process_last([&](Connection& each) { reply(each, good, sum); });
    }
  }

  void answer_split() {
    for_each_own_process_last([this](Connection& each) {
      std::vector<const Connection*> group;
      for (const auto& other : members_) {
        if (other->request.color == each.request.color) {
          group.push_back(other.get());
        }
      }
      std::stable_sort(group.begin(), group.end(), [](const auto* a, const auto* b) {
        return a->request.key < b->request.key;
      });
      const auto place = std::find(group.begin(), group.end(), &each);
      offers_.push_back(group.front()->received.substr(0, sizeof(ncclUniqueId)));
      plan_.push_back({sizeof(ncclUniqueId), ncclSuccess,
                       static_cast<int32_t>(place - group.begin()),
                       static_cast<int32_t>(group.size()), 0});
    });
    size_t next = 0;
    // Answered in a second round: a reply drops the request that the others are grouped by.
    for_each_own_process_last([&](Connection& each) {
      reply(each, plan_[next], offers_[next]);
      ++next;
    });
    offers_.clear();
    plan_.clear();
  }

  void reply(Connection& member, const Reply& head, const std::string& payload) {
    member.received.erase(0, member.request.bytes);
    member.has_request = false;
    if (send_all(member.fd, &head, sizeof head, wake_) == Outcome::kDone && head.bytes > 0) {
      send_all(member.fd, payload.data(), payload.size(), wake_);
    }
  }

  // The process of the hub may end as soon as its own rank has an answer.
  template <typename Action>
  void for_each_own_process_last(Action action) {
    const std::string here = host_identity();
    const auto is_here = [&](const Connection& each) {
      return each.hello.process == getpid() && each.hello.host == hash_text(here);
    };
    for (const bool own : {false, true}) {
      for (const auto& each : members_) {
        if (is_here(*each) == own) {
          action(*each);
        }
      }
    }
  }

  // Takes what has come in; false when cancelled or out of time.
  bool poll_once(int timeout) {
    std::vector<pollfd> entries = {{wake_.fd(), POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const auto& each : members_) {
      entries.push_back({each->is_gone ? -1 : each->fd, POLLIN, 0});
    }
    const int count = poll(entries.data(), entries.size(), timeout);
    if (count < 0) {
      return errno == EINTR;
    }
    if (count == 0 || entries[0].revents != 0) {
      return false;
    }
    for (size_t index = 0; index + 2 < entries.size(); ++index) {
      if (entries[index + 2].revents != 0) {
        receive(*members_[index]);
      }
    }
    if (entries[1].revents != 0) {
      const int fd = accept(listener_, nullptr, nullptr);
      if (fd >= 0) {
        const int one = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        members_.push_back(std::make_unique<Connection>(fd));
      }
    }
    return true;
  }

  void receive(Connection& member) {
    buffer_.resize(1 << 18);
    const ssize_t count = recv(member.fd, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (count > 0) {
      member.received.append(buffer_.data(), static_cast<size_t>(count));
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      member.is_gone = true;
    }
  }

  void stop_listening() {
    if (listener_ >= 0) {
      ::close(listener_);
      listener_ = -1;
    }
  }

  int listener_;
  uint64_t magic_;
  Wake wake_;
  std::vector<std::unique_ptr<Connection>> members_;
  int32_t largest_size_ = 0;
  Answer failure_ = {};
  Clock::time_point failed_at_;
  std::vector<char> buffer_;
  std::vector<std::string> offers_;
  std::vector<Reply> plan_;
};

struct Registry {
  std::mutex mutex;
  std::map<uint64_t, std::shared_ptr<Hub>> hubs;
};

// Never destroyed: hubs outlive main.
Registry& registry() {
  static Registry* all = new Registry;
  return *all;
}

}  // namespace

ncclResult_t make_id(ncclUniqueId& id) {
  IdContent content = {};
  if (!find_interface(content.address)) {
    log_warning(0, "Bootstrap : no socket interface found");
    return ncclInvalidUsage;
  }
  // Not close-on-exec, as in the real library: an exec after this leaves a port that nobody serves.
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  auto* address = reinterpret_cast<sockaddr*>(&content.address);
  socklen_t length = sizeof content.address;
  if (listener < 0 || bind(listener, address, length) != 0 || listen(listener, SOMAXCONN) != 0 ||
      getsockname(listener, address, &length) != 0 ||
      getrandom(&content.magic, sizeof content.magic, 0) != sizeof content.magic) {
    log_warning(0, std::string("Bootstrap : cannot listen: ") + strerror(errno));
    if (listener >= 0) {
      ::close(listener);
    }
    return ncclSystemError;
  }
  memset(&id, 0, sizeof id);
  memcpy(&id, &content, sizeof content);
  auto hub = std::make_shared<Hub>(listener, content.magic);
  {
    const std::lock_guard<std::mutex> lock(registry().mutex);
    registry().hubs[content.magic] = hub;
  }
  start_quiet_thread([hub, magic = content.magic] {
    hub->run();
    const std::lock_guard<std::mutex> lock(registry().mutex);
    registry().hubs.erase(magic);
  }).detach();
  return ncclSuccess;
}

void cancel_id(const ncclUniqueId& id) {
  uint64_t magic = 0;
  memcpy(&magic, &id, sizeof magic);
  const std::lock_guard<std::mutex> lock(registry().mutex);
  const auto found = registry().hubs.find(magic);
  if (found != registry().hubs.end()) {
    found->second->cancel();
  }
}

}  // namespace nccl_double
