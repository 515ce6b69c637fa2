// SPDX-License-Identifier: Apache-2.0
// For whom an all-reduce is planned: what that saves, by hand, and how habits begin, change and end.
#include "hemiola/runtime/adaptation/late_habits.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace hemiola {
namespace {

constexpr std::int64_t kBytes = 1000;
/// 100 s without, 60 from the arrival on of a rank that is late by as much as the plan has it.
constexpr LateOutlook outlook(double delay_s = 0) {
  return {.plain_s = 100, .delay_s = delay_s, .finish_s = 60};
}

/// Notes so many operations with what all ranks would run.
void note(LateHabits* habits, int operations, int last, double lag_s) {
  for (int i = 0; i < operations; ++i)
    habits->note(kBytes, Rank{last}, lag_s, outlook(25.0 * habits->expected(kBytes).quarters));
}

LateRank late(int rank, int quarters) {
  return {Rank{rank}, quarters};
}

LateRank anyone(int quarters) {
  return {Rank{0}, quarters, true};
}

TEST(LateOutlook, CountsTheWaitForWhatIsMissingOfTheDelay) {
  // Derivation: after 50 s or more 60 instead of 100; after 30 s 20 + 60; after 0 s 50 + 60.
  EXPECT_NEAR(outlook(50).gain(1e9), 0.4, 1e-12);
  EXPECT_NEAR(outlook(50).gain(50), 0.4, 1e-12);
  EXPECT_NEAR(outlook(50).gain(30), 0.2, 1e-12);
  EXPECT_NEAR(outlook(50).gain(0), -0.1, 1e-12);
  EXPECT_EQ(outlook(1e6).gain(0), -1.0);
}

TEST(LateHabits, OneThatWasLastInAllOfEightIsExpected) {
  LateHabits habits;
  note(&habits, 7, 3, 30);
  EXPECT_EQ(habits.expected(kBytes), LateRank());
  note(&habits, 1, 3, 30);
  EXPECT_EQ(habits.expected(kBytes), late(3, 1));
  EXPECT_TRUE(habits.pays(kBytes));
}

TEST(LateHabits, NobodyIsWhereTheLastOneIsNotAlwaysLate) {
  for (const int other : {2, 3}) {
    LateHabits habits;
    note(&habits, 4, 3, 30);
    note(&habits, 1, other, 24);
    note(&habits, 7, 3, 30);
    EXPECT_EQ(habits.expected(kBytes), LateRank());
    note(&habits, 1, 3, 30);
    EXPECT_EQ(habits.expected(kBytes), late(3, 1));
  }
}

TEST(LateHabits, AnyRankIsWhereAnotherOneIsLateEachTimeAndOneOnceItIsAloneAgain) {
  LateHabits habits;
  for (int call = 0; call < 8; ++call) note(&habits, 1, call, call == 5 ? 60 : 120);
  EXPECT_EQ(habits.expected(kBytes), anyone(2));
  EXPECT_TRUE(habits.pays(kBytes));
  note(&habits, 7, 4, 120);
  EXPECT_EQ(habits.expected(kBytes), anyone(4));
  note(&habits, 1, 4, 120);
  EXPECT_EQ(habits.expected(kBytes), late(4, 4));
}

/// Given a habit of eight operations. Expect that it ends with the fourth to which ranks, from `first` on by `step`, come
/// in time. Derivation: 0.4 with the delay, 1 - (100 + 60)/100 = -0.6 without: (8-k)·0.4 - k·0.6 is above 0 up to k = 3.
void expect_end_after_four(LateHabits* habits, const LateRank& expected, int first, int step) {
  for (int k = 1; k <= 4; ++k) {
    note(habits, 1, first + step * k, 0);
    EXPECT_EQ(habits->expected(kBytes), k < 4 ? expected : LateRank()) << k;
  }
}

TEST(LateHabits, AnyRankIsExpectedUntilThePlansWouldHaveSavedNothing) {
  LateHabits habits;
  for (int call = 0; call < 8; ++call) note(&habits, 1, call, 120);
  expect_end_after_four(&habits, anyone(4), 0, 1);
}

TEST(LateHabits, TheLeastLagDecidesForHowMuchIsPlanned) {
  for (const auto& [lag_s, quarters] :
       {std::pair{25.0, 1}, {49.0, 1}, {50.0, 2}, {99.0, 2}, {100.0, 4}, {1e9, 4}}) {
    LateHabits habits;
    note(&habits, 4, 0, 1e9);
    note(&habits, 4, 0, lag_s);
    EXPECT_EQ(habits.expected(kBytes), late(0, quarters)) << lag_s;
  }
}

TEST(LateHabits, ItEndsOnceThePlanWouldHaveSavedNothing) {
  LateHabits habits;
  note(&habits, 8, 3, 120);
  expect_end_after_four(&habits, late(3, 4), 3, 0);
}

TEST(LateHabits, OneThatComesLastInAnothersPlaceTakesItsPlace) {
  LateHabits habits;
  note(&habits, 8, 3, 120);
  note(&habits, 7, 5, 120);
  EXPECT_EQ(habits.expected(kBytes), anyone(4));
  note(&habits, 1, 5, 120);
  EXPECT_EQ(habits.expected(kBytes), late(5, 4));
}

TEST(LateHabits, APlanThatSavesNothingDoesNotPayAndEndsWithTheLag) {
  LateHabits habits;
  note(&habits, 8, 3, 30);
  const LateOutlook nothing{.plain_s = 100, .delay_s = 25, .finish_s = 100};
  habits.note(kBytes, Rank{3}, 30, nothing);
  EXPECT_EQ(habits.expected(kBytes), late(3, 1));
  EXPECT_FALSE(habits.pays(kBytes));
  habits.note(kBytes, Rank{3}, 0, nothing);
  EXPECT_EQ(habits.expected(kBytes), LateRank());
}

TEST(LateHabits, SizesOfAnotherPowerOfTwoHaveTheirOwn) {
  LateHabits habits;
  note(&habits, 8, 3, 120);
  EXPECT_EQ(habits.expected(513), late(3, 4));
  EXPECT_EQ(habits.expected(1024), late(3, 4));
  EXPECT_EQ(habits.expected(512), LateRank());
  EXPECT_EQ(habits.expected(1025), LateRank());
}

}  // namespace
}  // namespace hemiola
