// SPDX-License-Identifier: Apache-2.0
// What another thread or process does soon.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace hemiola {

/// Expects that a condition comes to hold, within half a minute.
template <typename Condition>
void eventually(Condition condition) {
  for (int i = 0; i < 30'000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(condition());
}

}  // namespace hemiola
