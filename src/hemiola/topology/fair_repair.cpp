// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/fair_repair.hpp"

#include <algorithm>
#include <functional>

#include "hemiola/base/interrupt.hpp"
#include "hemiola/topology/fair_filling.hpp"

namespace hemiola {

bool FairRepair::repair(std::span<const int> changed_links, std::span<const FlowId> added,
                        std::int64_t looks) {
  ++number_;
  looks_left_ = looks;
  level_ = 0;
  concerned_.clear();
  dues_.clear();
  for (FlowId f : added) concern(f, kNone);
  for (int l : changed_links) note(l, false);
  while (!dues_.empty() && looks_left_ >= 0) {
    std::pop_heap(dues_.begin(), dues_.end(), std::greater<>{});
    const auto [due, l] = dues_.back();
    dues_.pop_back();
    if (!link(l).is_full && link(l).due == due) advance(l);
  }
  return looks_left_ >= 0;
}

const std::vector<FlowId>& FairRepair::flows_of(int l) {
  const std::vector<FlowId>& flows = shared_.link(l).flows;
  looks_left_ -= static_cast<std::int64_t>(flows.size());
  heed_interrupt(static_cast<std::int64_t>(flows.size()));
  return flows;
}

/// The flow's rate if l had room for anything, as far as is known at this level.
double FairRepair::limit_elsewhere(const Flow& flow, int l) const {
  if (is_concerned(flow)) return flow.next_rate;
  return flow.full_link == l ? kNone : flow.rate;
}

/// The flow has this rate, or none yet: kNone.
void FairRepair::concern(FlowId f, double rate) {
  Flow& flow = shared_.flow(f);
  if (!is_concerned(flow)) concerned_.push_back(f);
  flow.repaired = number_;
  flow.next_rate = rate;
}

/// A flow's rate on l has changed. Where that leaves more to the others, it is soon enough to see how much
/// when l's turn comes.
void FairRepair::note(int l, bool may_give_less) {
  if (link(l).repaired != number_) {
    link(l) = {.repaired = number_, .is_stale = true};
    push(l, level_);
  } else if (!link(l).is_full) {
    link(l).is_stale = true;
    if (may_give_less && link(l).due > level_) push(l, level_);
  }
}

void FairRepair::push(int l, double due) {
  link(l).due = due;
  if (due == kNone) return;
  dues_.emplace_back(due, l);
  std::push_heap(dues_.begin(), dues_.end(), std::greater<>{});
}

/// The level that l was due at may have moved up meanwhile.
void FairRepair::advance(int l) {
  LinkState& state = link(l);
  if (state.is_stale) work_out(l);
  const bool gives_as_before = state.before != kNone && is_same_rate(state.share, state.before);
  const double due = gives_as_before ? state.before : std::min(state.share, state.before);
  if (due > state.due && !is_same_rate(due, state.due)) return push(l, due);
  if (due > level_ && !is_same_rate(due, level_)) level_ = due;
  if (gives_as_before || state.share < state.before)
    fill(l);
  else
    pass(l);
}

void FairRepair::work_out(int l) {
  LinkState& state = link(l);
  state.is_stale = false;
  state.before = kNone;
  double taken = 0, most = 0;
  std::size_t open = 0;
  for (FlowId f : flows_of(l)) {
    const Flow& flow = shared_.flow(f);
    const double limit = limit_elsewhere(flow, l);
    if (limit == kNone) {
      ++open;
      if (!is_concerned(flow)) state.before = flow.rate;
    } else {
      taken += limit;
      most = std::max(most, limit);
    }
  }
  const double capacity = shared_.capacity_of(l);
  if (open > 0)
    state.share = raised_share(l, (capacity - taken) / static_cast<double>(open), most);
  else if (taken > capacity && !is_same_rate(taken, capacity))
    state.share = raised_share(l, level_, most);
  else
    state.share = kNone;
}

/// The share at which l is full, from one that is no larger; `most` is the largest limit of a flow. Those that may have
/// more than a share are stopped by it, which leaves more to all: the share rises, and stops fewer, until it stays.
double FairRepair::raised_share(int l, double share, double most) {
  while (share < most && !is_same_rate(share, most)) {
    double taken = 0;
    std::size_t open = 0;
    for (FlowId f : flows_of(l)) {
      const double limit = limit_elsewhere(shared_.flow(f), l);
      if (limit > share && !is_same_rate(limit, share))
        ++open;
      else
        taken += limit;
    }
    const double next = (shared_.capacity_of(l) - taken) / static_cast<double>(open);
    if (next <= share) break;
    share = next;
  }
  if (is_same_rate(share, most)) share = most;  // equal flows keep exactly equal rates
  return std::max(share, level_);
}

/// Flows that could have more get the level, which is l's share.
void FairRepair::fill(int l) {
  link(l).is_full = true;
  for (FlowId f : flows_of(l)) {
    const Flow& flow = shared_.flow(f);
    if (is_concerned(flow) && flow.next_rate != kNone) continue;
    const double limit = limit_elsewhere(flow, l);
    if (limit > level_ && !is_same_rate(limit, level_)) fix(f, l);
  }
}

void FairRepair::fix(FlowId f, int l) {
  Flow& flow = shared_.flow(f);
  const bool was_open = is_concerned(flow);
  const bool keeps_rate = is_same_rate(flow.rate, level_);
  concern(f, keeps_rate ? flow.rate : level_);
  flow.full_link = l;
  if (keeps_rate && !was_open) return;
  for (int k : flow.path)
    if (k != l) note(k, false);
}

/// The level is that of l's share before, and l has room for more.
void FairRepair::pass(int l) {
  for (FlowId f : flows_of(l)) {
    const Flow& flow = shared_.flow(f);
    if (!is_concerned(flow) && flow.full_link == l) open(f, l);
  }
  link(l).before = kNone;
  push(l, link(l).is_stale ? level_ : link(l).share);
}

void FairRepair::open(FlowId f, int l) {
  concern(f, kNone);
  for (int k : shared_.flow(f).path) {
    if (k == l) continue;
    // Full at this very level, but for rounding.
    if (link(k).repaired == number_ && link(k).is_full) return fix(f, k);
    note(k, true);
  }
}

}  // namespace hemiola
