// SPDX-License-Identifier: Apache-2.0
// How a long call ends early: at an interrupt, or because a budget is spent. Loops that can take long say how many small
// operations they have done, of about 3 ns each. Now and then the thread's hook is asked, and its budgets pay. Counts are
// the same on every machine; seconds are not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "hemiola/base/error.hpp"

namespace hemiola {

class Budget;

namespace interrupt {
/// Small operations between two questions: some milliseconds.
inline constexpr std::int64_t kPatience = 1 << 20;
inline thread_local const std::function<void()>* hook = nullptr;
inline thread_local Budget* budget = nullptr;  ///< the innermost one that pays
/// Operations until the next question, and how many those were when the budgets last paid.
inline thread_local std::int64_t left = kPatience, granted = kPatience;
}  // namespace interrupt

/// How many small operations a piece of work may take. It pays while a BudgetScope of its thread lives, and so do those
/// around it. Work in other threads is not counted.
class Budget {
 public:
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

  explicit Budget(std::int64_t limit = kUnlimited) : limit_(limit) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  std::int64_t limit() const { return limit_; }
  bool is_limited() const { return limit_ != kUnlimited; }

  /// Operations so far; of a budget that pays, in its thread.
  std::int64_t spent() const {
    pay();
    return spent_;
  }
  std::int64_t left() const { return limit_ - std::min(limit_, spent()); }

  /// From now on this one pays, too.
  void enter() {
    HEMIOLA_CHECK(!pays_, "a budget that pays already cannot be entered again");
    pay();
    pays_ = true;
    outer_ = interrupt::budget;
    interrupt::budget = this;
    grant();
  }
  void leave() {
    HEMIOLA_CHECK(interrupt::budget == this, "budgets are left in the reverse order, each in its own thread");
    pay();
    pays_ = false;
    interrupt::budget = outer_;
    grant();
  }

  /// The limited budget around all others of this thread, or none.
  static const Budget* outermost_limited() {
    const Budget* found = nullptr;
    for (const Budget* one = interrupt::budget; one != nullptr; one = one->outer_)
      if (one->is_limited()) found = one;
    return found;
  }

  /// Charges what was done since the last time, and throws BudgetSpentError if that was the last of a budget.
  static void pay_or_throw() {
    pay();
    grant();
    for (const Budget* one = interrupt::budget; one != nullptr; one = one->outer_)
      if (one->spent_ >= one->limit_)
        throw BudgetSpentError("a budget of " + std::to_string(one->limit_) + " operations is spent");
  }

 private:
  static void pay() {
    const std::int64_t done = interrupt::granted - interrupt::left;
    interrupt::granted = interrupt::left;
    for (Budget* one = interrupt::budget; one != nullptr; one = one->outer_) one->spent_ += done;
  }
  /// So many operations that no budget is spent before the next question.
  static void grant() {
    interrupt::left = interrupt::kPatience;
    for (const Budget* one = interrupt::budget; one != nullptr; one = one->outer_)
      interrupt::left = std::min(interrupt::left, std::max<std::int64_t>(one->limit_ - one->spent_, 0));
    interrupt::granted = interrupt::left;
  }

  std::int64_t limit_;
  std::int64_t spent_ = 0;
  Budget* outer_ = nullptr;
  bool pays_ = false;
};

/// While it lives, `heed_interrupt` in this thread draws on the budget, and throws BudgetSpentError once that is spent.
class BudgetScope {
 public:
  explicit BudgetScope(Budget* budget) : budget_(*budget) { budget_.enter(); }
  ~BudgetScope() { budget_.leave(); }
  BudgetScope(const BudgetScope&) = delete;
  BudgetScope& operator=(const BudgetScope&) = delete;

 private:
  Budget& budget_;
};

/// While it lives, `heed_interrupt` in this thread calls the hook, which throws to end the call.
class InterruptScope {
 public:
  explicit InterruptScope(const std::function<void()>& hook) : before_(interrupt::hook) {
    interrupt::hook = &hook;
  }
  ~InterruptScope() { interrupt::hook = before_; }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  const std::function<void()>* before_;
};

namespace interrupt {
/// Out of the way of the loops that may call it.
[[gnu::noinline, gnu::cold]] inline void ask() {
  Budget::pay_or_throw();
  if (hook != nullptr) (*hook)();
}
}  // namespace interrupt

/// Says that so many small operations are behind, or about to begin.
inline void heed_interrupt(std::int64_t operations) {
  if ((interrupt::left -= operations) <= 0) [[unlikely]]
    interrupt::ask();
}

}  // namespace hemiola
