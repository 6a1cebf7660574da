// SPDX-License-Identifier: Apache-2.0
#pragma once
// The store as a server: PyTorch's TCPStore protocol in every dialect, for any number of clients,
// in one thread on an EventLoop. The data is service.h's, the bytes codec.h's; here are sockets.
//
// A connection that has shown its dialect is never timed out. Nobody can stall others: no request
// is waited for, and a client that does not read its replies is no longer read from.

#include "lib/base/event_loop.h"
#include "lib/base/fd.h"
#include "lib/store/acceptor.h"
#include "lib/store/key_value.h"
#include "lib/store/silent_connections.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include <stddef.h>
#include <sys/socket.h>

namespace distinit {

/// A connection that wants to be a client. `fd` stays the server's.
struct ConnectionInfo {
  int fd = -1;
  sockaddr_storage peer{};
  sockaddr_storage local{};
};

/// What has happened so far.
struct StoreCounters {
  size_t clients = 0;      ///< connected now, dialect known, admitted
  size_t silent = 0;       ///< connected now, nothing said, nobody's companion
  size_t refused = 0;      ///< no descriptor was left for them
  size_t evicted = 0;      ///< silent ones closed to make room
  size_t turned_away = 0;  ///< not admitted
  size_t malformed = 0;    ///< garbage, limits exceeded, a request that can't be served
};

class StoreServer {
 public:
  /// Asked once for each connection, when its dialect is known and before any of its requests is
  /// executed. `decide` may be called at once or later, from the loop's thread, also after the
  /// connection or the server is gone; only its first call counts. False closes the connection.
  using Admission =
      std::function<void(const ConnectionInfo&, std::function<void(bool admitted)> decide)>;
  /// Takes over a connection of another protocol, non-blocking, with all that was read from it.
  using Foreign = std::function<void(Fd, std::string bytes_so_far, const sockaddr_storage& peer)>;

  /// For a listening, non-blocking socket. `loop` must outlive the server, and the server must not
  /// be destroyed, nor close_all() be called, from inside its own callbacks.
  StoreServer(EventLoop& loop, Fd listening);
  StoreServer(const StoreServer&) = delete;
  ~StoreServer();

  /// Accepts from now on; set what is to be set before. Fails as EventLoop::add does.
  Status start() { return acceptor_->start(); }

  /// Without one, everybody is admitted.
  void set_admission(Admission admission) { admission_ = std::move(admission); }
  /// A connection whose first bytes equal `preamble` (16 bytes, the first 0xD1) is handed to
  /// `foreign` and no longer this server's.
  void set_foreign_protocol(std::string preamble, Foreign foreign);
  /// Silent connections that belong to nobody beyond this many: the oldest is closed. Half of the
  /// descriptors that this process may have when the server is made, unless set.
  void set_most_silent(size_t most) { most_silent_ = most; }

  /// What the owner changes here wakes clients as theirs does.
  KeyValue& data() { return data_; }
  /// How many ranks have counted themselves (the value of `init/`), 0 where none has.
  int64_t init_count() const;
  StoreCounters counters() const;
  /// Closes all connections and the listening socket. The data stays.
  void close_all();

 private:
  struct Connection;

  Connection* find(ConnectionId id);
  void opened(Fd fd, const sockaddr_storage& peer);
  bool evict_oldest_silent();
  bool make_room();
  void handle(ConnectionId id, uint32_t events);
  void read(Connection& connection);
  void take(Connection& connection, std::string_view bytes);
  void identify(Connection& connection);
  void hand_over(Connection& connection);
  void ask_admission(Connection& connection);
  void decided(ConnectionId id, bool admitted);
  void settle_dialect(Connection& connection);
  void process(Connection& connection);
  bool serve_next(Connection& connection);
  void wake(Waiter waiter);
  void notify(Waiter waiter, const Change& change);
  void flush(Connection& connection);
  void update_interest(Connection& connection);
  void reject(Connection& connection);
  void close(Connection& connection);

  EventLoop& loop_;
  KeyValue data_;
  SilentConnections silent_;
  Admission admission_;
  std::string foreign_preamble_;
  Foreign foreign_;
  size_t most_silent_ = 0;
  std::unordered_map<ConnectionId, std::unique_ptr<Connection>> connections_;
  ConnectionId next_id_ = 1;
  StoreCounters counters_;
  std::unique_ptr<Acceptor> acceptor_;
  std::string read_buffer_;
  std::shared_ptr<StoreServer*> self_;  // null once this object is gone, for late decisions
};

}  // namespace distinit
