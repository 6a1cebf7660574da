// SPDX-License-Identifier: Apache-2.0
// `distinit store`: the store alone, outside Slurm.

#include "helper/command.h"
#include "lib/base/event_loop.h"
#include "lib/base/exit_status.h"
#include "lib/base/log.h"
#include "lib/base/socket_owner.h"
#include "lib/base/text.h"
#include "lib/store/listen.h"
#include "lib/store/server.h"

#include <string>

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

namespace distinit {

namespace {

struct Endpoint {
  std::string host;  ///< without brackets
  int port = 0;
};

Result<Endpoint> parse_endpoint(std::string_view text) {
  const size_t colon = text.rfind(':');
  const auto port =
      colon == text.npos ? std::nullopt : parse_number(text.substr(colon + 1), 0, 65535);
  std::string_view host = text.substr(0, colon == text.npos ? 0 : colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (!port || host.empty() || (!bracketed && host.find(':') != host.npos)) {
    return Error{ErrorCode::kUsage, concat("--listen '", abbreviate(text), "' is not HOST:PORT"),
                 "write it as 127.0.0.1:29500 or [::1]:29500; port 0 picks a free one", 0};
  }
  if (bracketed) {
    host = host.substr(1, host.size() - 2);
  }
  return Endpoint{std::string(host), static_cast<int>(*port)};
}

// A numeric address as it is, a name by its first address.
Result<std::string> resolve(const std::string& host) {
  if (parse_address(host, 0)) {
    return host;
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failure = getaddrinfo(host.c_str(), nullptr, &hints, &found); failure != 0) {
    return Error{ErrorCode::kUsage,
                 concat("can't resolve '", abbreviate(host), "': ", gai_strerror(failure)),
                 "use a numeric address", 0};
  }
  sockaddr_storage first{};
  memcpy(&first, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return format_address(first);
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

// Why the connection is refused; empty where the program at its other end runs here and as us.
std::string reason_to_refuse(const ConnectionInfo& connection) {
  const auto owner = socket_owner(connection.peer, connection.local);
  if (!owner) {
    return owner.error().what;
  }
  return *owner == geteuid() ? "" : concat("it belongs to uid ", *owner);
}

// Ends the loop at SIGTERM and SIGINT.
Result<Fd> stop_on_signals(EventLoop& loop) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  Fd fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.is_open()) {
    return system_error(ErrorCode::kInternal, "can't make a signalfd", errno);
  }
  DISTINIT_RETURN_IF_ERROR(loop.add(fd.get(), EPOLLIN, [&loop](uint32_t) { loop.stop(); }));
  return fd;
}

Status serve_until_signal(const std::string& listen, bool open, const Log& log) {
  raise_descriptor_limit();
  DISTINIT_ASSIGN_OR_RETURN(const Endpoint endpoint, parse_endpoint(listen));
  DISTINIT_ASSIGN_OR_RETURN(const std::string address, resolve(endpoint.host));
  DISTINIT_ASSIGN_OR_RETURN(EventLoop loop, EventLoop::create());
  DISTINIT_ASSIGN_OR_RETURN(const Fd signals, stop_on_signals(loop));
  DISTINIT_ASSIGN_OR_RETURN(Fd listening, listen_on(address, endpoint.port));
  const std::string bound = bound_endpoint(listening);
  StoreServer server(loop, std::move(listening));
  if (!open) {
    server.set_admission([&log](const ConnectionInfo& connection, auto decide) {
      const std::string reason = reason_to_refuse(connection);
      if (!reason.empty()) {
        log.warn(concat("refused ", format_endpoint(connection.peer), ": ", reason),
                 "only programs of this user on this host are served; --open admits everybody");
      }
      decide(reason.empty());
    });
  }
  DISTINIT_RETURN_IF_ERROR(server.start());
  printf("listening %s\n", bound.c_str());
  fflush(stdout);
  loop.run();
  return Ok{};
}

int run_store(int argc, char** argv) {
  CLI::App app("The store alone: PyTorch's TCPStore for programs started by other means.",
               "distinit store");
  std::string listen;
  bool open = false;
  app.add_option("--listen", listen, "where to listen; port 0 picks a free one")
      ->type_name("HOST:PORT")
      ->required();
  app.add_flag("--open", open, "admit everybody, not only this user's programs on this host");
  Log log;
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& failure) {
    log.error(Error{ErrorCode::kUsage, concat("store: ", failure.what()),
                    "see `distinit store --help`", 0});
    return kExitUsage;
  }
  const Status served = serve_until_signal(listen, open, log);
  if (!served) {
    log.error(served.error());
    return exit_status(served.error().code);
  }
  return kExitOk;
}

const CommandRegistration registration{
    {"store", "the store alone: --listen HOST:PORT [--open]", run_store}};

}  // namespace

}  // namespace distinit
