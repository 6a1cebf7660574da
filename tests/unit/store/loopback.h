// SPDX-License-Identifier: Apache-2.0
#pragma once
// A real server on a real loopback socket in a thread, and clients that speak bytes.

#include "lib/base/event_loop.h"
#include "lib/base/fd.h"
#include "lib/base/socket_address.h"
#include "lib/store/server.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace distinit {

/// Runs a StoreServer until destroyed.
class ServerThread {
 public:
  /// `prepare` runs before the server starts, in the caller's thread.
  explicit ServerThread(std::function<void(StoreServer&)> prepare = {},
                        std::string_view address = "127.0.0.1");
  ServerThread(const ServerThread&) = delete;
  ~ServerThread();

  int port() const { return port_; }
  /// Runs `work` in the server's thread and waits for it.
  void call(const std::function<void(StoreServer&)>& work);
  StoreCounters counters();
  /// Waits, at most 10 s, until `condition`, asked in the server's thread, holds of the counters;
  /// fails the test otherwise.
  void await(const char* what, const std::function<bool(const StoreCounters&)>& condition);

 private:
  EventLoop loop_;
  Pipe orders_;
  std::unique_ptr<StoreServer> server_;
  int port_ = 0;
  std::thread thread_;
};

/// A connection that sends and expects bytes, each within 10 s.
class RawClient {
 public:
  explicit RawClient(int port, const char* host = "127.0.0.1");
  /// A connection that is there already.
  explicit RawClient(Fd fd) : fd_(std::move(fd)) {}

  void send(std::string_view bytes);
  /// Hexadecimal in, hexadecimal out: fails the test unless exactly `reply` arrives.
  void expect(std::string_view request, std::string_view reply);
  std::string receive(size_t count);
  /// Nothing arrives for `time`, and the connection stays open.
  void expect_silence(milliseconds time);
  void expect_closed();
  bool is_closed_within(milliseconds time);

  const Fd& fd() const { return fd_; }
  void close() { fd_.reset(); }

 private:
  Fd fd_;
};

/// What every current client sends first.
std::string handshake();

}  // namespace distinit
