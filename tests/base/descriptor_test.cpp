// SPDX-License-Identifier: Apache-2.0
#include "hemiola/base/descriptor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace hemiola {
namespace {

struct Pair {
  Pair() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    here = Descriptor(ends[0]);
    there = Descriptor(ends[1]);
  }
  Descriptor here, there;
};

/// What `look` finds in a forked child.
bool in_child(const std::function<bool()>& look) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(look() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool is_socket(const Descriptor& descriptor) {
  int type = 0;
  socklen_t length = sizeof type;
  return ::getsockopt(descriptor.get(), SOL_SOCKET, SO_TYPE, &type, &length) == 0;
}

TEST(Descriptor, WhatIsKeptFromChildrenIsTheNullDeviceThere) {
  Pair pair;
  pair.here.keep_from_children();
  EXPECT_TRUE(in_child([&] {
    char byte = 0;
    return !is_socket(pair.here) && is_socket(pair.there) && ::read(pair.here.get(), &byte, 1) == 0;
  }));
  EXPECT_TRUE(is_socket(pair.here));
}

/// Expect the end of the connection at the other end, though a child lives that was forked while it was open.
TEST(Descriptor, AChildDoesNotKeepAConnectionOpen) {
  Pair pair;
  pair.here.keep_from_children();
  int report[2];
  ASSERT_EQ(::pipe(report), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(report[1]);
    char byte = 0;
    [[maybe_unused]] const ssize_t end = ::read(report[0], &byte, 1);
    ::_exit(0);
  }
  {
    const Descriptor closed = std::move(pair.here);
  }
  char byte = 0;
  EXPECT_EQ(::read(pair.there.get(), &byte, 1), 0);
  ::close(report[0]);
  ::close(report[1]);
  ::waitpid(child, nullptr, 0);
}

/// Given a number that was a kept descriptor's, and is now another file's. Expect the child to have that file.
TEST(Descriptor, ANumberIsForgottenWhenItsDescriptorIsClosed) {
  int number = -1;
  {
    const Pair pair;
    pair.here.keep_from_children();
    number = pair.here.get();
  }
  const Descriptor file(::open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(file.get(), number) << "the lowest free number is used again";
  EXPECT_TRUE(in_child([&] {
    char byte = 0;
    return ::read(file.get(), &byte, 1) == 1;
  }));
}

TEST(Descriptor, MovingKeepsItFromChildrenAsBefore) {
  Pair pair;
  pair.here.keep_from_children();
  const Descriptor moved = std::move(pair.here);
  EXPECT_FALSE(pair.here);
  EXPECT_TRUE(in_child([&] { return !is_socket(moved); }));
}

}  // namespace
}  // namespace hemiola
