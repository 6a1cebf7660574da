// SPDX-License-Identifier: Apache-2.0
#include "lib/store/key_value.h"

#include "lib/base/text.h"

#include <charconv>
#include <utility>

namespace distinit {

namespace {

// Takes one waiter from under a key, and the key with the last one.
void unregister(auto& from, std::string_view key, const auto& place) {
  const auto waiters = from.find(key);
  waiters->second.erase(place);
  if (waiters->second.empty()) {
    from.erase(waiters);
  }
}

}  // namespace

std::optional<int64_t> leading_number(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\n\v\f\r");
  text.remove_prefix(start == text.npos ? text.size() : start);
  // from_chars knows '-' but not '+', and would accept "+-1" once the '+' is gone.
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) {
      return std::nullopt;
    }
  }
  int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() ? std::optional(number) : std::nullopt;
}

const std::string* KeyValue::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

void KeyValue::store(std::string_view key, std::string value) {
  const auto found = values_.find(key);
  if (found == values_.end()) {
    const auto& stored = *values_.emplace(key, std::move(value)).first;
    tell(ChangeKind::kCreated, key, {}, stored.second);
    created(key);
  } else {
    const std::string old = std::exchange(found->second, std::move(value));
    tell(ChangeKind::kUpdated, key, old, found->second);
  }
  finish_reached(key);
}

void KeyValue::set(std::string_view key, std::string value) {
  store(key, std::move(value));
  finish_barrier(key);
}

void KeyValue::append(std::string_view key, std::string_view more) {
  const auto found = values_.find(key);
  // In place where nobody watches: a value grown piece by piece is not copied each time.
  if (found != values_.end() && !watchers_.contains(key)) {
    found->second += more;
    finish_reached(key);
  } else {
    store(key, found == values_.end() ? std::string(more) : concat(found->second, more));
  }
}

std::optional<int64_t> KeyValue::add(std::string_view key, int64_t delta) {
  int64_t number = 0;
  if (const std::string* value = find(key)) {
    const auto parsed = leading_number(*value);
    if (!parsed) {
      return std::nullopt;
    }
    number = *parsed;
  }
  // Unsigned, because an overflow wraps.
  number = static_cast<int64_t>(static_cast<uint64_t>(number) + static_cast<uint64_t>(delta));
  store(key, concat(number));
  return number;
}

std::string KeyValue::compare_set(std::string_view key, std::string_view expected,
                                  std::string desired) {
  const std::string* current = find(key);
  if (current == nullptr && !expected.empty()) {
    return std::string(expected);
  }
  if (current != nullptr && *current != expected) {
    return *current;
  }
  store(key, desired);
  return desired;
}

bool KeyValue::remove(std::string_view key) {
  const auto found = values_.find(key);
  if (found == values_.end()) {
    return false;
  }
  const std::string old = std::move(found->second);
  values_.erase(found);
  tell(ChangeKind::kDeleted, key, old, {});
  return true;
}

std::vector<std::string_view> KeyValue::keys() const {
  std::vector<std::string_view> out;
  out.reserve(values_.size());
  for (const auto& [key, value] : values_) {
    out.push_back(key);
  }
  return out;
}

bool KeyValue::is_present(std::string_view key) const {
  // A queue is dropped when its last element goes.
  return values_.contains(key) || queues_.contains(key);
}

bool KeyValue::are_present(const std::vector<std::string>& keys) const {
  for (const std::string& key : keys) {
    if (!is_present(key)) {
      return false;
    }
  }
  return true;
}

void KeyValue::push(std::string_view key, std::string value) {
  queues_.try_emplace(std::string(key)).first->second.push_back(std::move(value));
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) {
    return;
  }
  const Waiter first = found->second.begin()->second;
  found->second.erase(found->second.begin());
  if (found->second.empty()) {
    waiting_.erase(found);
  }
  one_arrived(first, key);
}

KeyValue::Popped KeyValue::pop(std::string_view key) {
  const auto found = queues_.find(key);
  if (found == queues_.end()) {
    return {};
  }
  auto& queue = found->second;
  Popped popped{queue.size(), std::move(queue.front())};
  queue.pop_front();
  if (queue.empty()) {
    queues_.erase(found);
  }
  return popped;
}

size_t KeyValue::queue_length(std::string_view key) const {
  const auto found = queues_.find(key);
  return found == queues_.end() ? 0 : found->second.size();
}

bool KeyValue::wait(Waiter waiter, const std::vector<std::string>& keys) {
  cancel(waiter);
  Wait wait;
  wait.order = next_order_++;
  for (const std::string& key : keys) {
    if (!is_present(key) && wait.missing.insert(key).second) {
      waiting_[key].emplace(wait.order, waiter);
    }
  }
  if (wait.missing.empty()) {
    return true;
  }
  waits_.emplace(waiter, std::move(wait));
  return false;
}

KeyValue::Barrier KeyValue::arrive(Waiter waiter, std::string_view key, int64_t world_size) {
  cancel(waiter);
  const auto count = add(key, 1);
  if (!count) {
    return Barrier::kNotANumber;
  }
  if (*count >= world_size) {
    finish_barrier(key);
    return Barrier::kComplete;
  }
  Wait wait;
  wait.order = next_order_++;
  wait.barrier = key;
  wait.world_size = world_size;
  at_barrier_[std::string(key)].emplace(std::pair(world_size, wait.order), waiter);
  waits_.emplace(waiter, std::move(wait));
  return Barrier::kWaiting;
}

void KeyValue::cancel(Waiter waiter) {
  const auto found = waits_.find(waiter);
  if (found == waits_.end()) {
    return;
  }
  const Wait wait = std::move(found->second);
  waits_.erase(found);
  for (const std::string& key : wait.missing) {
    unregister(waiting_, key, wait.order);
  }
  if (wait.barrier) {
    unregister(at_barrier_, *wait.barrier, std::pair(wait.world_size, wait.order));
  }
}

void KeyValue::created(std::string_view key) {
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) {
    return;
  }
  const Waiters waiters = std::move(found->second);
  waiting_.erase(found);
  for (const auto& [order, waiter] : waiters) {
    one_arrived(waiter, key);
  }
}

void KeyValue::one_arrived(Waiter waiter, std::string_view key) {
  auto& missing = waits_.at(waiter).missing;
  missing.erase(missing.find(key));
  if (missing.empty()) {
    wake(waiter);
  }
}

void KeyValue::finish_barrier(std::string_view key) {
  const auto found = at_barrier_.find(key);
  if (found == at_barrier_.end()) {
    return;
  }
  const Arrivals arrivals = std::move(found->second);
  at_barrier_.erase(found);
  for (const auto& [place, waiter] : arrivals) {
    wake(waiter);
  }
}

void KeyValue::finish_reached(std::string_view key) {
  const auto found = at_barrier_.find(key);
  const auto count = found == at_barrier_.end() ? std::nullopt : leading_number(*find(key));
  if (!count) {
    return;
  }
  Arrivals& arrivals = found->second;
  while (!arrivals.empty() && arrivals.begin()->first.first <= *count) {
    const Waiter waiter = arrivals.begin()->second;
    arrivals.erase(arrivals.begin());
    wake(waiter);
  }
  if (arrivals.empty()) {
    at_barrier_.erase(found);
  }
}

void KeyValue::wake(Waiter waiter) {
  waits_.erase(waiter);
  if (on_wake_) {
    on_wake_(waiter);
  }
}

void KeyValue::watch(Waiter waiter, std::string_view key) {
  watchers_.try_emplace(std::string(key)).first->second.insert(waiter);
  watched_[waiter].emplace(key);
}

void KeyValue::forget(Waiter waiter) {
  cancel(waiter);
  const auto found = watched_.find(waiter);
  if (found == watched_.end()) {
    return;
  }
  for (const std::string& key : found->second) {
    const auto watchers = watchers_.find(key);
    watchers->second.erase(waiter);
    if (watchers->second.empty()) {
      watchers_.erase(watchers);
    }
  }
  watched_.erase(found);
}

void KeyValue::tell(ChangeKind kind, std::string_view key, std::string_view old_value,
                    std::string_view new_value) {
  const auto found = watchers_.find(key);
  if (found == watchers_.end() || !on_change_) {
    return;
  }
  for (const Waiter waiter : found->second) {
    on_change_(waiter, Change{kind, key, old_value, new_value});
  }
}

}  // namespace distinit
