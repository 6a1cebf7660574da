// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a store holds and who waits for it: values, queues, waits, barriers and watches, apart from
// sockets and bytes. Keys are opaque. Every operation costs the same however many keys and waiters
// there are (hash tables; waiters are kept under the key that they miss).
// Semantics: PyTorch's libuv server, without its false wake-ups.

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <stddef.h>
#include <stdint.h>

namespace distinit {

/// Who waits or watches. Chosen by the caller, one per connection.
using Waiter = uint64_t;

/// One change of a watched key. The numbers are those on the wire.
enum class ChangeKind : uint8_t { kUpdated = 0, kCreated = 1, kDeleted = 2 };
struct Change {
  ChangeKind kind = ChangeKind::kUpdated;
  std::string_view key;
  std::string_view old_value;
  std::string_view new_value;
};

class KeyValue {
 public:
  /// Called when a wait or a barrier has been satisfied later, once, after which the waiter waits
  /// for nothing. Calls nothing of this object.
  using OnWake = std::function<void(Waiter)>;
  /// Called for each watcher of a key that changed. Calls nothing of this object.
  using OnChange = std::function<void(Waiter, const Change&)>;

  KeyValue() = default;
  KeyValue(OnWake on_wake, OnChange on_change)
      : on_wake_(std::move(on_wake)), on_change_(std::move(on_change)) {}

  /// The value, valid until the next change; nullptr where the key has none.
  const std::string* find(std::string_view key) const;
  void set(std::string_view key, std::string value);
  void append(std::string_view key, std::string_view more);
  /// Adds to the value read as strtoll does (absent: 0) and stores decimal text; overflow wraps.
  /// nullopt, and no change, where the value has no digits or lies outside 64 bits.
  std::optional<int64_t> add(std::string_view key, int64_t delta);
  /// Stores `desired` where the key has the value `expected`, or is absent and `expected` is empty.
  /// The reply: the value now stored; `expected` where the key is absent and stays so.
  std::string compare_set(std::string_view key, std::string_view expected, std::string desired);
  /// True where there was a value. Wakes nobody and leaves a queue of that name alone.
  bool remove(std::string_view key);
  /// Number of values; queues do not count.
  size_t size() const { return values_.size(); }
  /// All keys with a value, in no order.
  std::vector<std::string_view> keys() const;

  /// A value or a queue that is not empty.
  bool is_present(std::string_view key) const;
  bool are_present(const std::vector<std::string>& keys) const;

  /// Puts at the end of the key's queue; wakes only the first that waits for the key.
  void push(std::string_view key, std::string value);
  struct Popped {
    size_t length_before = 0;
    std::string value;  ///< empty where the queue was
  };
  Popped pop(std::string_view key);
  size_t queue_length(std::string_view key) const;

  /// True: all keys are present. False: the waiter is registered and woken when each key that was
  /// missing has been created once since. Replaces what the waiter waited for before.
  bool wait(Waiter waiter, const std::vector<std::string>& keys);
  enum class Barrier { kComplete, kWaiting, kNotANumber };
  /// Counts an arrival under `key`. kComplete: the count has reached `world_size`, and everybody
  /// else at this barrier has been woken. kWaiting: the waiter is registered, and is also woken by
  /// a set of the key and by any other change that brings the count to `world_size`. kNotANumber:
  /// the key holds something else, nothing changed.
  Barrier arrive(Waiter waiter, std::string_view key, int64_t world_size);
  /// Forgets what the waiter waits for. A barrier's count stays.
  void cancel(Waiter waiter);
  bool is_waiting(Waiter waiter) const { return waits_.contains(waiter); }

  /// From now on the waiter is told of every change of the key.
  void watch(Waiter waiter, std::string_view key);
  /// Forgets the waiter: its wait and its watches.
  void forget(Waiter waiter);

 private:
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  template <typename T>
  using ByKey = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

  struct Wait {
    uint64_t order = 0;  ///< ascends with time: the first waiter of a queue is the oldest
    std::set<std::string, std::less<>> missing;
    std::optional<std::string> barrier;  ///< the key, where it is a barrier and not a wait
    int64_t world_size = 0;              ///< the barrier's
  };
  using Waiters = std::map<uint64_t, Waiter>;                       // by order
  using Arrivals = std::map<std::pair<int64_t, uint64_t>, Waiter>;  // by world size and order

  void store(std::string_view key, std::string value);
  void created(std::string_view key);
  void one_arrived(Waiter waiter, std::string_view key);
  void finish_barrier(std::string_view key);
  void finish_reached(std::string_view key);
  void wake(Waiter waiter);
  void tell(ChangeKind kind, std::string_view key, std::string_view old_value,
            std::string_view new_value);

  OnWake on_wake_;
  OnChange on_change_;
  ByKey<std::string> values_;
  ByKey<std::deque<std::string>> queues_;
  std::unordered_map<Waiter, Wait> waits_;
  ByKey<Waiters> waiting_;
  ByKey<Arrivals> at_barrier_;
  ByKey<std::set<Waiter>> watchers_;
  std::unordered_map<Waiter, std::set<std::string>> watched_;
  uint64_t next_order_ = 0;
};

/// The number at the start of a text as strtoll(…, 10) reads it: blanks, a sign, digits; what
/// follows is ignored. nullopt: no digits, or outside 64 bits.
std::optional<int64_t> leading_number(std::string_view text);

}  // namespace distinit
