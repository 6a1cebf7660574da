// SPDX-License-Identifier: Apache-2.0
#include "lib/base/event_loop.h"

#include "lib/base/frame_link.h"

#include <optional>

#include <criterion/criterion.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace distinit;

namespace {

struct Pair {
  Fd one;
  Fd other;
};

Pair make_pair() {
  int ends[2];
  cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  return Pair{Fd(ends[0]), Fd(ends[1])};
}

}  // namespace

Test(event_loop, calls_back_for_what_is_ready_and_ends_when_nothing_is_left) {
  EventLoop loop = EventLoop::create().value();
  Pair pair = make_pair();
  int calls = 0;
  cr_assert(loop.add(pair.one.get(), EPOLLIN,
                     [&](uint32_t events) {
                       cr_assert(events & EPOLLIN);
                       ++calls;
                       loop.remove(pair.one.get());
                     })
                .has_value());
  cr_assert(write_all(pair.other.get(), "x").has_value());
  loop.run();
  cr_assert_eq(calls, 1);
}

Test(event_loop, timers_fire_in_order_and_can_be_cancelled) {
  EventLoop loop = EventLoop::create().value();
  std::string order;
  loop.add_timer(milliseconds(20), [&] { order += "b"; });
  loop.add_timer(milliseconds(5), [&] { order += "a"; });
  const auto cancelled = loop.add_timer(milliseconds(10), [&] { order += "x"; });
  loop.cancel_timer(cancelled);
  loop.cancel_timer(12345);
  loop.run();
  cr_assert_eq(order, "ab");
}

Test(event_loop, removed_descriptor_gets_no_stale_event) {
  EventLoop loop = EventLoop::create().value();
  Pair a = make_pair();
  Pair b = make_pair();
  int calls = 0;
  const auto once = [&](uint32_t) {
    ++calls;
    // Whichever comes first takes the other away in the same round.
    loop.remove(a.one.get());
    loop.remove(b.one.get());
  };
  cr_assert(loop.add(a.one.get(), EPOLLIN, once).has_value());
  cr_assert(loop.add(b.one.get(), EPOLLIN, once).has_value());
  cr_assert(write_all(a.other.get(), "x").has_value());
  cr_assert(write_all(b.other.get(), "x").has_value());
  loop.run();
  cr_assert_eq(calls, 1);
}

Test(event_loop, timer_that_adds_timers_does_not_keep_descriptors_waiting) {
  EventLoop loop = EventLoop::create().value();
  Pair pair = make_pair();
  int timers = 0;
  std::function<void()> again = [&] {
    ++timers;
    loop.add_timer(milliseconds(0), again);
  };
  loop.add_timer(milliseconds(0), again);
  cr_assert(loop.add(pair.one.get(), EPOLLIN, [&](uint32_t) { loop.stop(); }).has_value());
  cr_assert(write_all(pair.other.get(), "x").has_value());
  loop.run();
  cr_assert_lt(timers, 10);
}

Test(frame_link, carries_messages_both_ways_and_tells_the_end) {
  EventLoop loop = EventLoop::create().value();
  Pair pair = make_pair();
  std::vector<std::string> got;
  std::optional<int> closed;
  std::shared_ptr<FrameLink> one;
  one = FrameLink::open(
            loop, std::move(pair.one),
            [&](std::string m) {
              got.push_back(std::move(m));
              one->close();
            },
            [](int) {})
            .value();
  std::shared_ptr<FrameLink> other;
  other = FrameLink::open(
              loop, std::move(pair.other),
              [&](const std::string& m) { other->send(make_frame("got " + m)); },
              [&](int sys_errno) { closed = sys_errno; })
              .value();
  const std::string large(3 << 20, 'x');
  one->send(make_frame(large));
  loop.run();
  cr_assert_eq(got.size(), 1u);
  cr_assert_eq(got[0], "got " + large);
  cr_assert_eq(closed.value(), 0);
  cr_assert_not(one->is_open());
}

Test(frame_link, what_was_received_before_is_delivered_first) {
  EventLoop loop = EventLoop::create().value();
  Pair pair = make_pair();
  std::string got;
  const std::string frames = make_frame("a") + make_frame("b");
  auto link = FrameLink::open(
                  loop, std::move(pair.one), [&](const std::string& m) { got += m; }, [](int) {},
                  frames.substr(0, frames.size() - 1))
                  .value();
  cr_assert(
      write_all(pair.other.get(), frames.substr(frames.size() - 1) + make_frame("c")).has_value());
  pair.other.reset();
  loop.run();
  cr_assert_eq(got, "abc");
}

Test(frame_link, bytes_that_are_no_frame_close_it) {
  EventLoop loop = EventLoop::create().value();
  Pair pair = make_pair();
  std::optional<int> closed;
  auto link = FrameLink::open(
                  loop, std::move(pair.one), [](const std::string&) {},
                  [&](int sys_errno) { closed = sys_errno; })
                  .value();
  cr_assert(write_all(pair.other.get(), "GET / HTTP/1.1\r\n").has_value());
  loop.run();
  cr_assert_eq(closed.value(), EPROTO);
}

Test(frame_link, may_be_dropped_inside_its_own_callback) {
  EventLoop loop = EventLoop::create().value();
  Pair pair = make_pair();
  std::shared_ptr<FrameLink> link;
  int messages = 0;
  link = FrameLink::open(
             loop, std::move(pair.one),
             [&](const std::string&) {
               ++messages;
               link.reset();
             },
             [](int) {})
             .value();
  cr_assert(write_all(pair.other.get(), make_frame("a") + make_frame("b")).has_value());
  for (int i = 0; i < 5; ++i) {
    loop.run_once(milliseconds(5));
  }
  cr_assert_geq(messages, 1);
  cr_assert_null(link.get());
}
