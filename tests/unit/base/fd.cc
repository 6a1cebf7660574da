// SPDX-License-Identifier: Apache-2.0
#include "lib/base/fd.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

using namespace distinit;

Test(fd, closes_when_it_goes_and_moves) {
  Pipe pipe = make_pipe().value();
  const int number = pipe.read.get();
  {
    const Fd moved = std::move(pipe.read);
    cr_assert_eq(moved.get(), number);
    cr_assert_not(pipe.read.is_open());
    cr_assert_geq(fcntl(number, F_GETFD), 0);
  }
  cr_assert_eq(fcntl(number, F_GETFD), -1);
}

Test(fd, pipes_are_close_on_exec_until_told_otherwise) {
  const Pipe pipe = make_pipe().value();
  cr_assert_eq(fcntl(pipe.read.get(), F_GETFD), FD_CLOEXEC);
  cr_assert(set_close_on_exec(pipe.read.get(), false).has_value());
  cr_assert_eq(fcntl(pipe.read.get(), F_GETFD), 0);
}

Test(fd, reads_to_the_end_within_the_limit) {
  Pipe pipe = make_pipe().value();
  cr_assert(write_all(pipe.write.get(), "hello").has_value());
  pipe.write.reset();
  cr_assert_eq(read_all(pipe.read.get(), 5).value(), "hello");
  Pipe longer = make_pipe().value();
  cr_assert(write_all(longer.write.get(), "hello!").has_value());
  longer.write.reset();
  cr_assert_eq(read_all(longer.read.get(), 5).error().what, "more than 5 bytes to read");
}

Test(fd, missing_file_is_named) {
  const auto content = read_file("/nowhere/at/all", 10);
  cr_assert_eq(content.error().what, "/nowhere/at/all: No such file or directory");
  cr_assert_eq(content.error().sys_errno, ENOENT);
}
