// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/executor/program/rank_part.hpp"

#include <algorithm>
#include <bit>

namespace hemiola {
namespace {

/// Indices of the pairs that the rank is in, ascending; transfers of a step are ascending by pair, too.
std::vector<std::uint32_t> own_pairs(const Schedule& schedule, Rank rank) {
  std::vector<std::uint32_t> own;
  for (std::uint32_t i = 0; i < schedule.pairs().size(); ++i)
    if (schedule.pairs()[i].src == rank || schedule.pairs()[i].dst == rank) own.push_back(i);
  return own;
}

/// Walks every transfer once.
void collect_by_scan(const Schedule& schedule, const std::vector<std::uint32_t>& own, RankPart* part) {
  std::vector<bool> is_own(schedule.pairs().size());
  for (std::uint32_t pair : own) is_own[pair] = true;
  for (Step step : indices<Step>(schedule.step_count()))
    for (std::int64_t i = schedule.step_offset()[static_cast<std::size_t>(step)];
         i < schedule.step_offset()[static_cast<std::size_t>(step) + 1]; ++i)
      if (is_own[schedule.link()[static_cast<std::size_t>(i)]])
        part->transfers.push_back(schedule.transfer(step, i));
}

/// Looks each own pair up in each step.
void collect_by_search(const Schedule& schedule, const std::vector<std::uint32_t>& own, RankPart* part) {
  const std::uint32_t* link = schedule.link().data();
  for (Step step : indices<Step>(schedule.step_count())) {
    const std::uint32_t* at = link + schedule.step_offset()[static_cast<std::size_t>(step)];
    const std::uint32_t* const end = link + schedule.step_offset()[static_cast<std::size_t>(step) + 1];
    for (std::uint32_t pair : own) {
      at = std::lower_bound(at, end, pair);
      for (; at != end && *at == pair; ++at) part->transfers.push_back(schedule.transfer(step, at - link));
    }
  }
}

}  // namespace

RankPart part_of(const Schedule& schedule, Rank rank) {
  RankPart part{rank, {}};
  const std::vector<std::uint32_t> own = own_pairs(schedule, rank);
  const auto steps = static_cast<std::uint64_t>(schedule.step_count());
  const auto transfers = static_cast<std::uint64_t>(schedule.transfer_count());
  // A search touches about log2 of a step's length lines that are not in cache; scanning costs a fraction of one each.
  const auto probe_cost = static_cast<std::uint64_t>(4 * std::bit_width(steps == 0 ? 1 : transfers / steps));
  if (own.size() * steps * probe_cost < transfers)
    collect_by_search(schedule, own, &part);
  else
    collect_by_scan(schedule, own, &part);
  return part;
}

}  // namespace hemiola
