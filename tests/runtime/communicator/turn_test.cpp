// SPDX-License-Identifier: Apache-2.0
// The turn: one thread at a time, and whoever waits may be told to stop.
#include "hemiola/runtime/communicator/turn.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

TEST(Turn, OneThreadHasItAtATime) {
  Turn turn;
  int count = 0;  // unguarded otherwise: the thread sanitizer sees it, too
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 1000; ++round) {
        const auto held = turn.take();
        ++count;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 4000);
}

TEST(Turn, IsMineOnlyInTheThreadThatHasIt) {
  Turn turn;
  EXPECT_FALSE(turn.is_mine());
  const auto held = turn.take();
  EXPECT_TRUE(turn.is_mine());
  std::thread([&] { EXPECT_FALSE(turn.is_mine()); }).join();
}

TEST(Turn, WhoeverWaitsStopsWhenItsCheckThrows) {
  Turn turn;
  const auto held = turn.take();
  std::thread([&] {
    EXPECT_THROW(static_cast<void>(turn.take([] { throw std::runtime_error("enough"); })),
                 std::runtime_error);
  }).join();
}

TEST(Turn, AThreadThatHasItMayNotWaitForItself) {
  Turn turn;
  const auto held = turn.take();
  EXPECT_THROW(static_cast<void>(turn.take()), InternalError);
}

}  // namespace
}  // namespace hemiola
