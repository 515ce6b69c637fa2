// SPDX-License-Identifier: Apache-2.0
// Ends work that its budget cannot see done, long before that is spent.
#pragma once

#include <cstdint>
#include <string>

#include "hemiola/base/interrupt.hpp"

namespace hemiola {

/// Of work that begins now, and knows its own share.
class Forecast {
 public:
  Forecast()
      : budget_(Budget::outermost_limited()),
        spent_before_(budget_ == nullptr ? 0 : budget_->spent()),
        room_(budget_ == nullptr ? 0 : budget_->left()) {}

  /// Say which share of the work is behind, in 0 … 1. Throws BudgetSpentError where an eighth of what was left of the
  /// budget is spent, and at this rate the work takes half as much again as all of it. Shares may be unequal by a third.
  void at(double share) const {
    if (budget_ == nullptr) return;
    const auto spent = static_cast<double>(budget_->spent() - spent_before_);
    const auto room = static_cast<double>(room_);
    if (spent * kSoon < room || spent <= kSlack * room * share) return;
    throw BudgetSpentError("a budget of " + std::to_string(budget_->limit()) +
                           " operations, of which too few are left at this rate");
  }

 private:
  static constexpr double kSoon = 8, kSlack = 1.5;

  const Budget* budget_;
  std::int64_t spent_before_, room_;
};

}  // namespace hemiola
