#include <gtest/gtest.h>

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

TEST(PollRecord, FourMissesInARowEndIt) {
  PollRecord record;
  for (int i = 0; i < 3; ++i) record.missed();
  EXPECT_TRUE(record.pays());
  record.missed();
  EXPECT_EQ(times_it_pays(&record, 640), 10) << "of which each is a try whether it pays again";
}

TEST(PollRecord, OneThatMeetsNewsBringsItBack) {
  PollRecord record;
  for (int i = 0; i < 1000; ++i) record.missed();
  record.met();
  EXPECT_EQ(times_it_pays(&record, 100), 100);
}

}  // namespace
}  // namespace hemiola
