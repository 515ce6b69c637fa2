// SPDX-License-Identifier: Apache-2.0
// The findings of all learners about a call: equal on all ranks in an operation's turn.
#pragma once

#include <compare>
#include <cstdint>
#include <map>

#include "hemiola/base/index.hpp"

namespace hemiola {

/// A rank that is expected to come last, by at least so many quarters of the time of an all-reduce without a late rank:
/// 1, 2 or 4; 0: none is.
struct LateRank {
  Rank rank{0};
  int quarters = 0;
  bool moves = false;  ///< it may be any rank, another one at each operation; `rank` is 0

  explicit operator bool() const { return quarters > 0; }
  friend auto operator<=>(const LateRank&, const LateRank&) = default;
};

/// The slow ports that plans take into account.
struct PortsInForce {
  std::uint64_t version = 0;  ///< counts the changes so far
  std::map<Rank, double> slow;
  friend bool operator==(const PortsInForce&, const PortsInForce&) = default;
};

struct Findings {
  std::uint64_t epoch = 0;  ///< of their validity

  // A call's plan depends on these:
  PortsInForce ports = {};
  LateRank late = {};

  // The way of running the plan depends on these:
  bool seeks_late = false;  ///< looking for a late rank pays
  bool late_saves = false;  ///< the plan for `late` is thought to save time
  bool looks = true;        ///< ranks look for zeros first
  double density = 1;       ///< the share of elements that are not zero, when ranks last looked

  bool plan_as(const Findings& other) const { return ports == other.ports && late == other.late; }
};

}  // namespace hemiola
