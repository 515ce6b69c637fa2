// SPDX-License-Identifier: Apache-2.0
// How long something has lasted for one that looks.
#include "hemiola/base/since.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace hemiola {
namespace {

constexpr std::int64_t kMillisecond_ns = 1'000'000;
constexpr std::int64_t kLimit_ns = 200 * kMillisecond_ns;

TEST(Since, lasts_from_the_first_look) {
  Since since;
  for (std::int64_t at = 0; at < kLimit_ns; at += 5 * kMillisecond_ns)
    EXPECT_FALSE(since.has_lasted(kLimit_ns, at)) << at;
  EXPECT_TRUE(since.has_lasted(kLimit_ns, kLimit_ns));
}

/// A thread without a core for a second has not looked for a second.
TEST(Since, leaves_out_the_absences_of_the_looker) {
  Since since;
  EXPECT_FALSE(since.has_lasted(kLimit_ns, 0));
  std::int64_t at = 0;
  for (int look = 1; look < 10; ++look) {
    at += 1000 * kMillisecond_ns;
    EXPECT_FALSE(since.has_lasted(kLimit_ns, at)) << look;
  }
  EXPECT_TRUE(since.has_lasted(kLimit_ns, at + 1000 * kMillisecond_ns));
}

}  // namespace
}  // namespace hemiola
