// SPDX-License-Identifier: Apache-2.0
#include "lib/store/key_value.h"

#include <utility>

#include <criterion/criterion.h>

using namespace distinit;

namespace {

// Data that remembers who was woken.
struct Recording {
  std::vector<Waiter> woken;
  std::vector<std::string> changes;
  KeyValue data{[this](Waiter waiter) { woken.push_back(waiter); },
                [this](Waiter waiter, const Change& change) {
                  changes.push_back(std::to_string(waiter) + ":" +
                                    std::to_string(static_cast<int>(change.kind)) + " " +
                                    std::string(change.key) + " " + std::string(change.old_value) +
                                    ">" + std::string(change.new_value));
                }};

  std::vector<Waiter> take_woken() { return std::exchange(woken, {}); }
};

using Waiters = std::vector<Waiter>;

}  // namespace

Test(key_value, replaces_appends_and_removes) {
  KeyValue data;
  cr_assert(data.find("k") == nullptr);
  data.set("k", "1");
  data.set("k", "22");
  cr_assert(*data.find("k") == "22");
  data.append("k", "3");
  data.append("new", "x");
  cr_assert(*data.find("k") == "223" && *data.find("new") == "x");
  cr_assert(data.size() == 2);
  cr_assert(data.remove("k") && !data.remove("k"));
  cr_assert(data.size() == 1 && data.keys() == std::vector<std::string_view>{"new"});
}

Test(key_value, treats_keys_as_opaque_bytes) {
  KeyValue data;
  data.set(std::string_view("a\0b", 3), "1");
  data.set("/a", "2");
  data.set("//a", "3");
  data.set("", "4");
  cr_assert(data.size() == 4);
  cr_assert(*data.find(std::string_view("a\0b", 3)) == "1" && *data.find("//a") == "3");
  cr_assert(*data.find("") == "4" && data.find("a") == nullptr);
}

Test(key_value, adds_as_strtoll_reads) {
  KeyValue data;
  cr_assert(data.add("n", 5) == 5 && data.add("n", -7) == -2);
  cr_assert(*data.find("n") == "-2");
  cr_assert(data.add("zero", 0) == 0 && *data.find("zero") == "0");
  const std::vector<std::pair<std::string, int64_t>> readable = {
      {"12abc", 13}, {" 7", 8}, {"0x10", 1}, {"+3", 4}, {"-1", 0}, {"\t\n 9 ", 10}, {"007", 8}};
  for (const auto& [text, sum] : readable) {
    data.set("t", text);
    cr_assert(data.add("t", 1) == sum, "'%s'", text.c_str());
    cr_assert(*data.find("t") == std::to_string(sum));
  }
  for (const char* text : {"abc", "", " ", "-", "+", "+-1", "- 1", "9223372036854775808",
                           "-9223372036854775809", "99999999999999999999999"}) {
    data.set("t", text);
    cr_assert(!data.add("t", 1), "'%s'", text);
    cr_assert(*data.find("t") == text, "unchanged");
  }
}

Test(key_value, wraps_an_overflowing_sum) {
  KeyValue data;
  data.set("n", "9223372036854775807");
  cr_assert(data.add("n", 1) == INT64_MIN);
  cr_assert(data.add("n", -1) == INT64_MAX);
}

Test(key_value, compares_before_it_sets) {
  KeyValue data;
  cr_assert(data.compare_set("k", "old", "new") == "old", "absent: the caller thinks it lost");
  cr_assert(data.find("k") == nullptr);
  cr_assert(data.compare_set("k", "", "a") == "a" && *data.find("k") == "a");
  cr_assert(data.compare_set("k", "b", "c") == "a" && *data.find("k") == "a");
  cr_assert(data.compare_set("k", "", "c") == "a", "an empty expectation matches only absence");
  cr_assert(data.compare_set("k", "a", "c") == "c" && *data.find("k") == "c");
  cr_assert(data.compare_set("e", "", "") == "" && *data.find("e") == "");
  cr_assert(data.compare_set("e", "", "x") == "x", "an empty value equals an empty expectation");
}

Test(key_value, wakes_when_every_missing_key_was_created) {
  Recording r;
  r.data.set("there", "");
  cr_assert(r.data.wait(1, {}) && r.data.wait(1, {"there"}));
  cr_assert(!r.data.wait(1, {"a", "there", "b", "a"}));
  r.data.set("there", "overwritten");
  r.data.set("a", "");
  r.data.set("a", "again");
  cr_assert(r.take_woken().empty() && r.data.is_waiting(1));
  r.data.remove("a");  // counted already
  r.data.set("b", "");
  cr_assert(r.take_woken() == Waiters{1} && !r.data.is_waiting(1));
  r.data.set("c", "");
  cr_assert(r.take_woken().empty());
}

Test(key_value, wakes_for_every_way_of_creating_a_key) {
  Recording r;
  r.data.wait(1, {"k1"});
  r.data.wait(2, {"k2"});
  r.data.wait(3, {"k3"});
  r.data.wait(4, {"k4"});
  r.data.wait(5, {"k5"});
  r.data.add("k1", 0);
  r.data.append("k2", "");
  r.data.compare_set("k3", "", "v");
  r.data.push("k4", "v");
  r.data.arrive(9, "k5", 2);
  cr_assert(r.take_woken() == Waiters({1, 2, 3, 4, 5}));
}

Test(key_value, does_not_wake_for_a_compare_that_stored_nothing) {
  Recording r;
  r.data.wait(1, {"k"});
  r.data.compare_set("k", "expected", "v");
  r.data.remove("k");
  cr_assert(r.take_woken().empty());
}

Test(key_value, has_one_wait_a_waiter) {
  Recording r;
  r.data.wait(1, {"a"});
  r.data.wait(1, {"b"});
  r.data.set("a", "");
  cr_assert(r.take_woken().empty(), "the first wait was replaced");
  r.data.set("b", "");
  cr_assert(r.take_woken() == Waiters{1});
  r.data.wait(1, {"c"});
  r.data.cancel(1);
  r.data.cancel(1);
  r.data.set("c", "");
  cr_assert(r.take_woken().empty());
}

Test(key_value, wakes_all_waiters_of_a_key_but_one_of_a_queue) {
  Recording r;
  for (Waiter waiter = 1; waiter <= 3; ++waiter) {
    r.data.wait(waiter, {"k"});
    r.data.wait(10 + waiter, {"q"});
  }
  r.data.set("k", "");
  cr_assert(r.take_woken() == Waiters({1, 2, 3}));
  r.data.push("q", "x");
  cr_assert(r.take_woken() == Waiters{11});
  r.data.push("q", "y");
  cr_assert(r.take_woken() == Waiters{12});
  r.data.cancel(13);
  r.data.push("q", "z");
  cr_assert(r.take_woken().empty());
}

Test(key_value, queues_first_in_first_out_apart_from_values) {
  KeyValue data;
  cr_assert(data.pop("q").length_before == 0 && data.queue_length("q") == 0);
  data.push("q", "1");
  data.push("q", "");
  cr_assert(data.is_present("q") && data.size() == 0 && data.find("q") == nullptr);
  cr_assert(data.queue_length("q") == 2);
  cr_assert(!data.remove("q") && data.queue_length("q") == 2);
  const auto first = data.pop("q");
  const auto second = data.pop("q");
  cr_assert(first.length_before == 2 && first.value == "1");
  cr_assert(second.length_before == 1 && second.value.empty());
  cr_assert(!data.is_present("q"));
}

Test(key_value, completes_a_barrier_and_does_not_reset_it) {
  Recording r;
  cr_assert(r.data.arrive(1, "b", 3) == KeyValue::Barrier::kWaiting);
  cr_assert(r.data.arrive(2, "b", 3) == KeyValue::Barrier::kWaiting);
  cr_assert(*r.data.find("b") == "2");
  cr_assert(r.data.arrive(3, "b", 3) == KeyValue::Barrier::kComplete);
  cr_assert(r.take_woken() == Waiters({1, 2}));
  cr_assert(r.data.arrive(4, "b", 3) == KeyValue::Barrier::kComplete, "a late one");
  cr_assert(r.data.arrive(5, "other", 0) == KeyValue::Barrier::kComplete);
}

Test(key_value, keeps_a_cancelled_arrival_counted) {
  Recording r;
  r.data.arrive(1, "b", 2);
  r.data.cancel(1);
  cr_assert(r.data.arrive(2, "b", 2) == KeyValue::Barrier::kComplete);
  cr_assert(r.take_woken().empty());
}

Test(key_value, ends_a_barrier_by_a_set_of_its_key) {
  Recording r;
  r.data.arrive(1, "b", 5);
  r.data.set("b", "1");
  cr_assert(r.take_woken() == Waiters{1});
  r.data.set("b", "text");
  cr_assert(r.data.arrive(1, "b", 5) == KeyValue::Barrier::kNotANumber);
  cr_assert(*r.data.find("b") == "text" && !r.data.is_waiting(1));
}

Test(key_value, ends_a_barrier_by_any_change_that_reaches_its_size) {
  Recording r;
  r.data.arrive(1, "b", 4);
  r.data.arrive(2, "b", 30);
  r.data.add("b", 1);  // 3
  r.data.compare_set("b", "3", "2");
  cr_assert(r.take_woken().empty());
  r.data.add("b", 2);
  cr_assert(r.take_woken() == Waiters{1});
  r.data.append("b", "0");
  cr_assert(r.take_woken() == Waiters{2}, "40");
  r.data.arrive(3, "b", 100);
  r.data.remove("b");
  r.data.add("b", 100);
  cr_assert(r.take_woken() == Waiters{3});
}

Test(key_value, completes_a_barrier_for_those_of_another_size) {
  Recording r;
  r.data.arrive(1, "b", 5);
  cr_assert(r.data.arrive(2, "b", 2) == KeyValue::Barrier::kComplete);
  cr_assert(r.take_woken() == Waiters{1});
}

Test(key_value, tells_watchers_every_change) {
  Recording r;
  r.data.watch(7, "k");
  r.data.watch(7, "k");
  r.data.set("k", "1");
  r.data.add("k", 4);
  r.data.append("k", "x");
  r.data.compare_set("k", "5x", "z");
  r.data.set("other", "");
  r.data.remove("k");
  const std::vector<std::string> wanted = {"7:1 k >1", "7:0 k 1>5", "7:0 k 5>5x", "7:0 k 5x>z",
                                           "7:2 k z>"};
  cr_assert(r.changes == wanted);
  r.data.forget(7);
  r.data.set("k", "");
  cr_assert(r.changes == wanted);
}

Test(key_value, costs_the_same_with_many_waiters) {
  // Quadratic cost would take minutes here.
  Recording r;
  constexpr Waiter kMany = 200'000;
  for (Waiter waiter = 0; waiter < kMany; ++waiter) {
    r.data.wait(waiter, {"common", "own" + std::to_string(waiter)});
  }
  for (Waiter waiter = 0; waiter < kMany; waiter += 2) {
    r.data.cancel(waiter);
  }
  for (Waiter waiter = 1; waiter < kMany; waiter += 2) {
    r.data.set("own" + std::to_string(waiter), "");
  }
  cr_assert(r.woken.empty());
  r.data.set("common", "");
  cr_assert(r.woken.size() == kMany / 2);
}
