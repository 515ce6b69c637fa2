// SPDX-License-Identifier: Apache-2.0
// Budgets of small operations: who pays, and when the work ends.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <thread>

#include "hemiola/base/forecast.hpp"
#include "hemiola/base/interrupt.hpp"

namespace hemiola {
namespace {

TEST(Budget, counts_what_its_thread_heeds_while_it_pays) {
  Budget budget;
  heed_interrupt(5);
  {
    const BudgetScope scope(&budget);
    heed_interrupt(3);
    EXPECT_EQ(budget.spent(), 3);
    heed_interrupt(4);
  }
  heed_interrupt(100);
  EXPECT_EQ(budget.spent(), 7);
  EXPECT_FALSE(budget.is_limited());
}

TEST(Budget, ends_the_work_at_the_count_that_spends_it) {
  Budget budget(10);
  const BudgetScope scope(&budget);
  heed_interrupt(9);
  EXPECT_EQ(budget.left(), 1);
  EXPECT_THROW(heed_interrupt(1), BudgetSpentError);
  EXPECT_EQ(budget.left(), 0);
}

TEST(Budget, stays_spent) {
  Budget budget(10);
  {
    const BudgetScope scope(&budget);
    EXPECT_THROW(heed_interrupt(11), BudgetSpentError);
  }
  heed_interrupt(100);
  EXPECT_EQ(budget.spent(), 11);
  const BudgetScope scope(&budget);
  EXPECT_THROW(heed_interrupt(1), BudgetSpentError);
}

TEST(Budget, counts_for_the_ones_around_it) {
  Budget outer(100), inner(10);
  const BudgetScope around(&outer);
  heed_interrupt(50);
  {
    const BudgetScope scope(&inner);
    EXPECT_THROW(heed_interrupt(20), BudgetSpentError);
  }
  EXPECT_EQ(inner.spent(), 20);
  EXPECT_EQ(outer.spent(), 70);
  EXPECT_THROW(heed_interrupt(30), BudgetSpentError);
}

TEST(Budget, ends_the_work_within_a_larger_one_when_the_outer_one_is_spent) {
  Budget outer(10), inner(1000);
  const BudgetScope around(&outer);
  const BudgetScope scope(&inner);
  EXPECT_THROW(heed_interrupt(10), BudgetSpentError);
}

TEST(Budget, spends_more_than_the_patience_of_an_interrupt_exactly) {
  const std::int64_t limit = 3 * interrupt::kPatience + 7;
  Budget budget(limit);
  const BudgetScope scope(&budget);
  std::int64_t heeded = 0;
  try {
    for (;; ++heeded) heed_interrupt(1);
  } catch (const BudgetSpentError&) {
  }
  EXPECT_EQ(heeded + 1, limit);
  EXPECT_EQ(budget.spent(), limit);
}

TEST(Budget, leaves_the_hook_to_be_asked) {
  struct Interrupted {};
  const std::function<void()> hook = [] { throw Interrupted(); };
  const InterruptScope interrupted(hook);
  Budget budget;
  const BudgetScope scope(&budget);
  heed_interrupt(interrupt::kPatience - 1);
  EXPECT_THROW(heed_interrupt(1), Interrupted);
  EXPECT_EQ(budget.spent(), interrupt::kPatience);
}

TEST(Budget, does_not_pay_for_other_threads) {
  Budget budget(10);
  const BudgetScope scope(&budget);
  std::thread([] { heed_interrupt(1000); }).join();
  EXPECT_EQ(budget.spent(), 0);
}

TEST(Budget, may_be_entered_again_but_not_twice_at_once) {
  Budget budget(10);
  {
    const BudgetScope scope(&budget);
  }
  budget.enter();
  EXPECT_THROW(budget.enter(), InternalError);
  budget.leave();
}

TEST(Budget, names_the_limited_one_around_all_others) {
  EXPECT_EQ(Budget::outermost_limited(), nullptr);
  Budget counting, outer(100), inner(10);
  const BudgetScope first(&counting);
  EXPECT_EQ(Budget::outermost_limited(), nullptr);
  const BudgetScope second(&outer);
  const BudgetScope third(&inner);
  EXPECT_EQ(Budget::outermost_limited(), &outer);
}

TEST(Forecast, ends_work_that_will_not_be_done) {
  Budget budget(1000);
  const BudgetScope scope(&budget);
  heed_interrupt(200);
  const Forecast forecast;  // of the 800 that are left
  heed_interrupt(99);
  forecast.at(0.01);  // an eighth of these is not yet spent
  heed_interrupt(1);
  forecast.at(0.1);
  EXPECT_THROW(forecast.at(0.08), BudgetSpentError);  // 1,250 in all
}

TEST(Forecast, says_nothing_without_a_limit) {
  Budget budget;
  const BudgetScope scope(&budget);
  const Forecast forecast;
  heed_interrupt(1 << 20);
  EXPECT_NO_THROW(forecast.at(0));
}

}  // namespace
}  // namespace hemiola
