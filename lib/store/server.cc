// SPDX-License-Identifier: Apache-2.0
#include "lib/store/server.h"

#include "lib/base/socket_address.h"
#include "lib/store/codec.h"
#include "lib/store/output.h"
#include "lib/store/service.h"

#include <algorithm>
#include <utility>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>

namespace distinit {

namespace {

constexpr size_t kReadSize = 65'536;
// A client with this much unread is not served before it has read.
constexpr size_t kMostOutput = size_t{1} << 20;
// A watcher that does not read is closed: its messages come unasked.
constexpr size_t kMostUnasked = size_t{64} << 20;
// Kept for a client that is not admitted yet.
constexpr size_t kMostBeforeAdmission = 65'536;
constexpr size_t kLeastSilent = 64;

size_t half_of_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return std::max<size_t>(kLeastSilent, limit.rlim_cur / 2);
}

}  // namespace

struct StoreServer::Connection {
  enum class Stage { kUnidentified, kAsking, kServed };

  ConnectionId id = 0;
  Fd fd;
  sockaddr_storage peer{};
  Stage stage = Stage::kUnidentified;
  std::string head;  // until the dialect is known
  RequestDecoder decoder{Dialect::kD3};
  Output output;
  uint32_t interest = EPOLLIN;
  bool held_back = false;  // has requests that wait for room in the output
  bool at_end = false;     // the peer sends no more
  bool broken = false;     // to be closed by its own next event
};

StoreServer::StoreServer(EventLoop& loop, Fd listening)
    : loop_(loop),
      data_([this](Waiter waiter) { wake(waiter); },
            [this](Waiter waiter, const Change& change) { notify(waiter, change); }),
      most_silent_(half_of_descriptors()),
      acceptor_(std::make_unique<Acceptor>(
          loop, std::move(listening),
          [this](Fd fd, const sockaddr_storage& peer) { opened(std::move(fd), peer); },
          [this] { return make_room(); })),
      read_buffer_(kReadSize, '\0'),
      self_(std::make_shared<StoreServer*>(this)) {}

StoreServer::~StoreServer() {
  *self_ = nullptr;
  close_all();
}

void StoreServer::set_foreign_protocol(std::string preamble, Foreign foreign) {
  foreign_preamble_ = std::move(preamble);
  foreign_ = std::move(foreign);
}

int64_t StoreServer::init_count() const {
  const std::string* value = data_.find(kInitKey);
  return value == nullptr ? 0 : leading_number(*value).value_or(0);
}

StoreCounters StoreServer::counters() const {
  StoreCounters out = counters_;
  out.silent = silent_.unpaired_count();
  out.refused += acceptor_ ? acceptor_->refused() : 0;
  return out;
}

void StoreServer::close_all() {
  counters_ = counters();
  acceptor_.reset();
  while (!connections_.empty()) {
    close(*connections_.begin()->second);
  }
}

StoreServer::Connection* StoreServer::find(ConnectionId id) {
  const auto found = connections_.find(id);
  return found == connections_.end() ? nullptr : found->second.get();
}

void StoreServer::opened(Fd fd, const sockaddr_storage& peer) {
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const ConnectionId id = next_id_++;
  const int raw_fd = fd.get();
  if (!loop_.add(raw_fd, EPOLLIN, [this, id](uint32_t events) { handle(id, events); })) {
    ++counters_.refused;  // epoll's own limits
    return;
  }
  auto connection = std::make_unique<Connection>();
  connection->id = id;
  connection->fd = std::move(fd);
  connection->peer = peer;
  connections_.emplace(id, std::move(connection));
  silent_.opened(id, format_address(peer));
  while (silent_.unpaired_count() > most_silent_) {
    evict_oldest_silent();
  }
}

// True when that freed a descriptor.
bool StoreServer::evict_oldest_silent() {
  const size_t before = connections_.size();
  const ConnectionId id = *silent_.oldest_unpaired();
  // It may have spoken while nobody looked.
  read(*find(id));
  Connection* connection = find(id);
  if (connection != nullptr && connection->stage == Connection::Stage::kUnidentified) {
    ++counters_.evicted;
    close(*connection);
  }
  return connections_.size() < before;
}

bool StoreServer::make_room() {
  while (silent_.unpaired_count() > 0) {
    if (evict_oldest_silent()) {
      return true;
    }
  }
  return false;
}

void StoreServer::handle(ConnectionId id, uint32_t events) {
  Connection* connection = find(id);
  if (connection == nullptr) {
    return;
  }
  if (connection->broken) {
    return close(*connection);
  }
  if ((events & EPOLLOUT) != 0) {
    flush(*connection);
    process(*connection);  // requests that waited for room
    connection = find(id);
  }
  if (connection != nullptr && (events & EPOLLIN) != 0) {
    return read(*connection);
  }
  if (connection != nullptr && (events & (EPOLLHUP | EPOLLERR)) != 0) {
    close(*connection);
  }
}

void StoreServer::read(Connection& connection) {
  ssize_t count;
  do {
    count = recv(connection.fd.get(), read_buffer_.data(), read_buffer_.size(), 0);
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    return errno == EAGAIN ? void() : close(connection);
  }
  if (count == 0) {
    connection.at_end = true;
    // What came before is still executed, once it is admitted and there is room for the replies.
    return connection.stage == Connection::Stage::kUnidentified ? close(connection)
                                                                : process(connection);
  }
  take(connection, std::string_view(read_buffer_).substr(0, static_cast<size_t>(count)));
}

void StoreServer::take(Connection& connection, std::string_view bytes) {
  if (connection.stage == Connection::Stage::kUnidentified) {
    connection.head += bytes;
    return identify(connection);
  }
  // The first byte of a new request says that the client has given up its wait.
  data_.cancel(connection.id);
  connection.decoder.append(bytes);
  process(connection);
}

void StoreServer::identify(Connection& connection) {
  Dialect dialect = Dialect::kD3;
  switch (read_opening(connection.head, foreign_preamble_)) {
    case Opening::kNeedMore:
      return;
    case Opening::kGarbage:
      return reject(connection);
    case Opening::kForeign:
      return hand_over(connection);
    case Opening::kD0:
      dialect = Dialect::kD0;
      break;
    case Opening::kD1OrD2:
      // Somebody's silent companion speaks: WATCH, which only D1 has.
      dialect = silent_.partner(connection.id) ? Dialect::kD1 : Dialect::kD1OrD2;
      break;
    case Opening::kD3:
      break;
  }
  silent_.spoke(connection.id, dialect == Dialect::kD1OrD2);
  connection.decoder = RequestDecoder(dialect);
  connection.decoder.append(std::exchange(connection.head, {}));
  ask_admission(connection);
}

void StoreServer::hand_over(Connection& connection) {
  loop_.remove(connection.fd.get());
  Fd fd = std::move(connection.fd);
  std::string bytes = std::move(connection.head);
  const sockaddr_storage peer = connection.peer;
  close(connection);
  foreign_(std::move(fd), std::move(bytes), peer);
}

void StoreServer::ask_admission(Connection& connection) {
  connection.stage = Connection::Stage::kAsking;
  const ConnectionId id = connection.id;
  if (!admission_) {
    return decided(id, true);
  }
  const auto ends = socket_ends(connection.fd.get());
  if (!ends) {
    return close(connection);
  }
  update_interest(connection);
  admission_(ConnectionInfo{connection.fd.get(), ends->peer, ends->local},
             [self = self_, id](bool admitted) {
               if (*self != nullptr) {
                 (*self)->decided(id, admitted);
               }
             });
}

void StoreServer::decided(ConnectionId id, bool admitted) {
  Connection* connection = find(id);
  if (connection == nullptr || connection->stage != Connection::Stage::kAsking) {
    return;
  }
  if (!admitted) {
    ++counters_.turned_away;
    return close(*connection);
  }
  connection->stage = Connection::Stage::kServed;
  ++counters_.clients;
  process(*connection);
}

// D1 and D2 mean different things by 7 and 8: by then a D1 client has its second connection, which
// may still be in the queue.
void StoreServer::settle_dialect(Connection& connection) {
  const auto command = connection.decoder.next_command();
  if (connection.decoder.dialect() != Dialect::kD1OrD2 || !command ||
      operation_for(Dialect::kD1OrD2, *command)) {
    return;
  }
  if (acceptor_) {
    acceptor_->accept_pending();
  }
  const bool has_companion = silent_.partner(connection.id).has_value();
  const auto dialect = settle_by_command(*command, has_companion);
  if (dialect == Dialect::kD2) {
    silent_.closed(connection.id);  // has no companion and needs none
  }
  connection.decoder.set_dialect(dialect.value_or(Dialect::kD1OrD2));
}

// False: nothing more to do now. Closes the connection when the request can't be served.
bool StoreServer::serve_next(Connection& connection) {
  settle_dialect(connection);
  auto request = connection.decoder.next();
  if (request && !*request) {
    return false;
  }
  if (!request || !serve(data_, connection.id, std::move(**request), connection.output.buffer())) {
    reject(connection);
    return false;
  }
  return true;
}

void StoreServer::process(Connection& connection) {
  const ConnectionId id = connection.id;
  bool more = connection.stage == Connection::Stage::kServed;
  while (more && connection.output.pending() < kMostOutput) {
    if (!serve_next(connection)) {
      more = false;
    } else if (connection.output.pending() >= kMostOutput) {
      flush(connection);
    }
  }
  if (find(id) == nullptr) {
    return;
  }
  connection.held_back = more;
  flush(connection);
  const bool done =
      connection.at_end && connection.stage == Connection::Stage::kServed && !connection.held_back;
  if (connection.broken || (done && connection.output.pending() == 0)) {
    return close(connection);
  }
  update_interest(connection);
}

void StoreServer::wake(Waiter waiter) {
  if (Connection* connection = find(waiter)) {
    put_u8(connection->output.buffer(), kReplyReady);
    flush(*connection);
    update_interest(*connection);
  }
}

void StoreServer::notify(Waiter waiter, const Change& change) {
  Connection* connection = find(waiter);
  if (connection == nullptr || connection->broken) {
    return;
  }
  connection->output.append(encode_change(change));
  flush(*connection);
  if (connection->output.pending() > kMostUnasked) {
    connection->broken = true;
    shutdown(connection->fd.get(), SHUT_RDWR);
  }
  update_interest(*connection);
}

// Closes nothing: it is called while the data is being changed. A broken connection's own event,
// which shutdown makes certain, closes it.
void StoreServer::flush(Connection& connection) {
  if (!connection.output.flush(connection.fd.get())) {
    connection.broken = true;
    shutdown(connection.fd.get(), SHUT_RDWR);
  }
}

void StoreServer::update_interest(Connection& connection) {
  const size_t output = connection.output.pending();
  const bool full = connection.stage == Connection::Stage::kAsking
                        ? connection.decoder.pending() >= kMostBeforeAdmission
                        : output >= kMostOutput;
  const bool wants_input = !connection.at_end && !full;
  // Whoever empties the output may not be who serves the requests that wait for it: the next round
  // does.
  const bool wants_output = output > 0 || connection.held_back;
  const uint32_t wanted =
      (wants_input ? uint32_t{EPOLLIN} : 0) | (wants_output ? uint32_t{EPOLLOUT} : 0);
  if (wanted != connection.interest) {
    connection.interest = wanted;
    loop_.modify(connection.fd.get(), wanted);
  }
}

void StoreServer::reject(Connection& connection) {
  ++counters_.malformed;
  // Replies to what came before the bad request.
  flush(connection);
  close(connection);
}

void StoreServer::close(Connection& connection) {
  if (connection.stage == Connection::Stage::kServed) {
    --counters_.clients;
  }
  loop_.remove(connection.fd.get());
  data_.forget(connection.id);
  silent_.closed(connection.id);
  connections_.erase(connection.id);
}

}  // namespace distinit
