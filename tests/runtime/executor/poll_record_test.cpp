// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "hemiola/runtime/executor/patience.hpp"

namespace hemiola {
namespace {

int times_it_pays(PollRecord* record, int waits) {
  int count = 0;
  for (int i = 0; i < waits; ++i) count += record->pays();
  return count;
}

TEST(PollRecord, PollsAtFirst) {
  PollRecord record;
  EXPECT_EQ(times_it_pays(&record, 100), 100);
}

/// Waits, of which all that poll miss.
std::vector<int> waits_that_poll(PollRecord* record, int waits) {
  std::vector<int> polled;
  for (int i = 0; i < waits; ++i)
    if (record->pays()) {
      polled.push_back(i);
      record->missed();
    }
  return polled;
}

TEST(PollRecord, AfterFourMissesInARowItTriesAgainTwiceAsRarelyEachTime) {
  PollRecord record;
  EXPECT_EQ(waits_that_poll(&record, 256), (std::vector<int>{0, 1, 2, 3, 5, 9, 17, 33, 65, 129, 193}));
}

TEST(PollRecord, OneThatMeetsNewsBringsItBack) {
  PollRecord record;
  for (int i = 0; i < 1000; ++i) record.missed();
  record.met();
  EXPECT_EQ(times_it_pays(&record, 100), 100);
}

}  // namespace
}  // namespace hemiola
