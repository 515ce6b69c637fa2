// SPDX-License-Identifier: Apache-2.0
#include "hemiola/verify/sums.hpp"

#include <algorithm>

namespace hemiola {

void Sums::count(Id id, Lanes from) {
  Lanes& to = lanes_[static_cast<std::size_t>(id)];
  to.twice |= from.twice | (to.once & from.once);
  to.once |= from.once;
}

std::uint64_t Sums::faulty(std::span<const Id> results, std::span<const Rank> contributors) {
  lanes_.assign(static_cast<std::size_t>(rank_count_) + additions_.size(), {});
  Id newest = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    lanes_[static_cast<std::size_t>(results[i])].once |= std::uint64_t{1} << i;
    newest = std::max(newest, results[i]);
  }
  // An addition's parts are older than itself, so descending order sees a sum only after all that use it.
  for (Id id = newest; id >= rank_count_; --id) {
    const Lanes lanes = lanes_[static_cast<std::size_t>(id)];
    if (lanes.once == 0) continue;
    const Addition& addition = additions_[static_cast<std::size_t>(id - rank_count_)];
    count(addition.a, lanes);
    count(addition.b, lanes);
  }
  const std::uint64_t asked =
      results.size() == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << results.size()) - 1;
  std::uint64_t faults = 0;
  for (Rank rank : contributors) {
    const Lanes& lanes = lanes_[static_cast<std::size_t>(own(rank))];
    faults |= (asked & ~lanes.once) | lanes.twice;
  }
  return faults;
}

Sums::Flaw Sums::flaw_of(int lane, std::span<const Rank> contributors) const {
  Flaw flaw;
  for (Rank rank : contributors) {
    const Lanes& lanes = lanes_[static_cast<std::size_t>(own(rank))];
    if ((lanes.once >> lane & 1) == 0) flaw.missing.push_back(rank);
    if ((lanes.twice >> lane & 1) != 0) flaw.twice.push_back(rank);
  }
  if (!flaw.twice.empty()) flaw.tag = meeting_tag(lane, flaw.twice.front());
  return flaw;
}

/// The oldest addition within the result both of whose parts hold the contributor.
std::int32_t Sums::meeting_tag(int lane, Rank contributor) const {
  std::vector<bool> holds(lanes_.size());
  holds[static_cast<std::size_t>(own(contributor))] = true;
  for (std::size_t i = 0; i < additions_.size(); ++i) {
    const auto id = static_cast<std::size_t>(rank_count_) + i;
    const bool a = holds[static_cast<std::size_t>(additions_[i].a)];
    const bool b = holds[static_cast<std::size_t>(additions_[i].b)];
    if (a && b && (lanes_[id].once >> lane & 1) != 0) return additions_[i].tag;
    holds[id] = a || b;
  }
  return kNothing;
}

}  // namespace hemiola
