// SPDX-License-Identifier: Apache-2.0
// Whether it pays to look for a late rank: the forecast by hand, and how habits begin and end.
#include "hemiola/runtime/adaptation/late_watch.hpp"

#include <gtest/gtest.h>

#include <array>

#include "hemiola/runtime/adaptation/arrival_log.hpp"

namespace hemiola {
namespace {

/// Given two segments of 10 s each, and ends of 100 (none reduced), 90 and 60 s.
const LateForecast kForecast{.plain_s = 100, .segment_s = 10, .finish_s = {100, 90, 60}};

TEST(LateForecast, CountsTheWaitForTheSegmentInWhichTheLastRankComes) {
  // Derivation: after 0 s the first segment has just begun, 10 + 90; after 4 s 6 + 90; after 12 s 8 + 60; from 20 s
  // on 60.
  EXPECT_NEAR(kForecast.gain(0), 0.0, 1e-12);
  EXPECT_NEAR(kForecast.gain(4), 0.04, 1e-12);
  EXPECT_NEAR(kForecast.gain(12), 0.32, 1e-12);
  EXPECT_NEAR(kForecast.gain(20), 0.4, 1e-12);
  EXPECT_NEAR(kForecast.gain(1e9), 0.4, 1e-12);
}

TEST(LateWatch, BeginsAfterEightOperationsThatWouldHaveSavedAFewPercent) {
  LateWatch watch;
  for (int i = 0; i < 7; ++i) watch.note(1000, 0.3);
  EXPECT_FALSE(watch.pays(1000));
  watch.note(1000, 0.3);
  EXPECT_TRUE(watch.pays(1000));
}

TEST(LateWatch, OneHiccupIsNoHabit) {
  LateWatch watch;
  for (int i = 0; i < 8; ++i) {
    watch.note(1000, i == 4 ? 0.4 : -0.02);
    EXPECT_FALSE(watch.pays(1000));
  }
}

TEST(LateWatch, EndsOnceTheLatestEightWouldHaveSavedNothing) {
  LateWatch watch;
  for (int i = 0; i < 8; ++i) watch.note(1000, 0.3);
  // Derivation: (8-k)·0.3 - k·0.1 is above 0 up to k = 5, and 0 at k = 6.
  for (int k = 1; k <= 6; ++k) {
    watch.note(1000, -0.1);
    EXPECT_EQ(watch.pays(1000), k < 6) << k;
  }
}

TEST(LateWatch, SizesOfAnotherPowerOfTwoHaveTheirOwnHabits) {
  LateWatch watch;
  for (int i = 0; i < 8; ++i) watch.note(1024, 0.3);
  EXPECT_TRUE(watch.pays(513));
  EXPECT_TRUE(watch.pays(1024));
  for (const std::int64_t other :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{512}, std::int64_t{1025}, INT64_MAX})
    EXPECT_FALSE(watch.pays(other)) << other;
}

TEST(ArrivalLog, TheLagIsThatOfTheLastBehindTheLastButOne) {
  ArrivalLog log(3);
  const auto lag = [&](const std::array<std::int64_t, 3>& times) {
    std::ranges::transform(times, log.next_row().begin(),
                           [](std::int64_t at_ns) { return Arrival{at_ns, 0}; });
    log.commit({OperationKind::barrier, 0});
    return log.latest_last().lag_ns;
  };
  EXPECT_EQ(lag({5, 90, 20}), 70);
  EXPECT_EQ(lag({90, 5, 20}), 70);
  EXPECT_EQ(lag({20, 90, 90}), 0);
  EXPECT_EQ(lag({7, 7, 7}), 0);
}

}  // namespace
}  // namespace hemiola
