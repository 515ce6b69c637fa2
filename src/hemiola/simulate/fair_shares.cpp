#include "hemiola/simulate/fair_shares.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace hemiola::simulation {
namespace {

/// Rates closer than this (relative) are one rate that was computed along two ways. Keeping them equal keeps
/// the ends of equal flows at the same instant, which is both exact and cheap.
constexpr double kSameRate = 1e-12;

}  // namespace

FairShares::FairShares(std::vector<double> capacity) : links_(capacity.size()) {
  for (std::size_t l = 0; l < links_.size(); ++l) links_[l].capacity = capacity[l];
}

FlowId FairShares::add(std::span<const int> path) {
  if (free_.empty()) {
    free_.push_back(static_cast<FlowId>(flows_.size()));
    flows_.emplace_back();
  }
  const FlowId flow = free_.back();
  free_.pop_back();
  flows_[flow] = Flow{.path = path, .is_alive = true};
  for (int l : path) link(l).flows.push_back(flow);
  mark_changed(path);
  return flow;
}

void FairShares::remove(FlowId flow) {
  flows_[flow].is_alive = false;
  removed_.push_back(flow);
  mark_changed(flows_[flow].path);
}

void FairShares::mark_changed(std::span<const int> path) {
  for (int l : path) {
    if (link(l).has_changed) continue;
    link(l).has_changed = true;
    changed_links_.push_back(l);
  }
}

std::span<const FairShares::Change> FairShares::settle() {
  changes_.clear();
  ++settle_number_;
  for (int l : changed_links_) std::erase_if(link(l).flows, [&](FlowId f) { return !flows_[f].is_alive; });
  for (int l : changed_links_) {
    link(l).has_changed = false;
    if (link(l).seen == settle_number_) continue;
    collect_from(l);
    fill();
  }
  changed_links_.clear();
  free_.insert(free_.end(), removed_.begin(), removed_.end());
  removed_.clear();
  return changes_;
}

/// Collects the links and flows that are connected to `start`.
void FairShares::collect_from(int start) {
  group_links_.clear();
  group_flows_.clear();
  visit(start);
  for (std::size_t i = 0; i < group_links_.size(); ++i)  // grows while it is read
    for (FlowId f : link(group_links_[i]).flows) {
      if (flows_[f].seen == settle_number_) continue;
      flows_[f].seen = settle_number_;
      flows_[f].is_fixed = false;
      group_flows_.push_back(f);
      for (int l : flows_[f].path) visit(l);
    }
}

void FairShares::visit(int l) {
  SharedLink& shared = link(l);
  if (shared.seen == settle_number_) return;
  shared.seen = settle_number_;
  shared.spare = shared.capacity;
  shared.open = static_cast<std::uint32_t>(shared.flows.size());
  group_links_.push_back(l);
}

/// Progressive filling: the link that gives its flows least decides for them; what they leave elsewhere is
/// for the others. A link's share only grows while others are served, so one that is out of date goes back
/// into the heap.
void FairShares::fill() {
  heap_.clear();
  for (int l : group_links_)
    if (link(l).open > 0) heap_.emplace_back(link(l).spare / link(l).open, l);
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>{});
  double level = 0;
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
    const auto [known_share, l] = heap_.back();
    heap_.pop_back();
    SharedLink& shared = link(l);
    if (shared.open == 0) continue;
    const double share = shared.spare / shared.open;
    if (share > known_share * (1 + kSameRate)) {
      heap_.emplace_back(share, l);
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
      continue;
    }
    if (share > level * (1 + kSameRate)) level = share;
    for (FlowId f : shared.flows)
      if (!flows_[f].is_fixed) fix(f, level);
  }
}

void FairShares::fix(FlowId f, double rate) {
  Flow& flow = flows_[f];
  flow.is_fixed = true;
  for (int l : flow.path) {
    link(l).spare -= rate;
    --link(l).open;
  }
  if (std::abs(rate - flow.rate) <= kSameRate * rate) return;
  flow.rate = rate;
  changes_.push_back({f, rate});
}

}  // namespace hemiola::simulation
