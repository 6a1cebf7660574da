// SPDX-License-Identifier: Apache-2.0
#include "tests/double/wire.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace nccl_double {
namespace {

bool name_matches(std::string_view name, std::string_view list) {
  const bool excludes = list.starts_with('^');
  list.remove_prefix(excludes ? 1 : 0);
  const bool exact = list.starts_with('=');
  list.remove_prefix(exact ? 1 : 0);
  bool found = false;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    const std::string_view entry = list.substr(0, comma);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    found = found || (!entry.empty() && (exact ? name == entry : name.starts_with(entry)));
  }
  return found != excludes;
}

}  // namespace

Wake::Wake() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Wake::~Wake() {
  ::close(fd_);
}

void Wake::wake() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(fd_, &one, sizeof one);
}

Outcome wait_ready(int fd, short events, const Wake& wake, int timeout_ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  for (;;) {
    int left = -1;
    if (timeout_ms >= 0) {
      const auto rest =
          std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      left = rest.count() > 0 ? static_cast<int>(rest.count()) : 0;
    }
    pollfd entries[2] = {{wake.fd(), POLLIN, 0}, {fd, events, 0}};
    const int count = poll(entries, 2, left);
    if (entries[0].revents != 0 && count > 0) {
      return Outcome::kWoken;
    }
    if (count > 0) {
      return Outcome::kDone;
    }
    if (count == 0) {
      return Outcome::kTimedOut;
    }
  }
}

Outcome send_all(int fd, const void* data, size_t size, const Wake& wake) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t count = ::send(fd, next, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) {
      next += count;
      size -= static_cast<size_t>(count);
    } else if (errno == EAGAIN) {
      if (wait_ready(fd, POLLOUT, wake, -1) == Outcome::kWoken) {
        return Outcome::kWoken;
      }
    } else if (errno != EINTR) {
      return Outcome::kClosed;
    }
  }
  return Outcome::kDone;
}

Outcome receive_all(int fd, void* data, size_t size, const Wake& wake) {
  char* next = static_cast<char*>(data);
  while (size > 0) {
    if (wait_ready(fd, POLLIN, wake, -1) == Outcome::kWoken) {
      return Outcome::kWoken;
    }
    const ssize_t count = ::recv(fd, next, size, MSG_DONTWAIT);
    if (count > 0) {
      next += count;
      size -= static_cast<size_t>(count);
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      return Outcome::kClosed;
    }
  }
  return Outcome::kDone;
}

Outcome connect_to(const sockaddr_in& address, const Wake& wake, int& fd, int& error) {
  error = 0;
  // Not close-on-exec, as in the real library.
  fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  Outcome outcome = fd < 0 ? Outcome::kClosed : Outcome::kDone;
  if (fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    error = errno;
    if (error == EINPROGRESS) {
      outcome = wait_ready(fd, POLLOUT, wake, -1);
      socklen_t length = sizeof error;
      getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    }
    if (outcome == Outcome::kDone && error != 0) {
      outcome = Outcome::kClosed;
    }
  }
  sockaddr_in self = {};
  socklen_t length = sizeof self;
  // A free port on the own host may be picked as source port: TCP then connects to itself.
  if (outcome == Outcome::kDone &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&self), &length) == 0 &&
      self.sin_port == address.sin_port && self.sin_addr.s_addr == address.sin_addr.s_addr) {
    error = ECONNREFUSED;
    outcome = Outcome::kClosed;
  }
  if (outcome != Outcome::kDone && fd >= 0) {
    ::close(fd);
    fd = -1;
  } else if (fd >= 0) {
    const int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  }
  return outcome;
}

bool find_interface(sockaddr_in& address) {
  const std::string wanted = environment("NCCL_SOCKET_IFNAME", "");
  address = {};
  address.sin_family = AF_INET;
  ifaddrs* list = nullptr;
  bool found = false;
  if (getifaddrs(&list) == 0) {
    for (const ifaddrs* each = list; each != nullptr && !found; each = each->ifa_next) {
      if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET ||
          (each->ifa_flags & IFF_UP) == 0) {
        continue;
      }
      found = wanted.empty() ? (each->ifa_flags & IFF_LOOPBACK) == 0
                             : name_matches(each->ifa_name, wanted);
      if (found) {
        sockaddr_in of_interface;
        memcpy(&of_interface, each->ifa_addr, sizeof of_interface);
        address.sin_addr = of_interface.sin_addr;
      }
    }
    freeifaddrs(list);
  }
  if (!found && wanted.empty()) {
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    found = true;
  }
  return found;
}

std::string address_text(const sockaddr_in& address) {
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  return std::string(text) + "<" + std::to_string(ntohs(address.sin_port)) + ">";
}

uint64_t hash_text(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char byte : text) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return hash;
}

std::string host_identity() {
  if (const char* given = environment("NCCL_HOSTID", nullptr)) {
    return given;
  }
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return name + boot;
}

const char* environment(const char* name, const char* otherwise) {
  const char* value = getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

int environment_number(const char* name, int otherwise) {
  const char* value = environment(name, nullptr);
  return value != nullptr ? atoi(value) : otherwise;
}

size_t element_size(int datatype) {
  switch (datatype) {
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

}  // namespace nccl_double
