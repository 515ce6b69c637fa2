#include "hemiola/topology/fair_shares.hpp"

#include <algorithm>

namespace hemiola {

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
    note_rates(filling_.fill(group_paths_, capacity_));
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
  group_paths_.clear();
  visit(start);
  for (std::size_t i = 0; i < group_links_.size(); ++i)  // grows while it is read
    for (FlowId f : link(group_links_[i]).flows) {
      if (flows_[f].seen == settle_number_) continue;
      flows_[f].seen = settle_number_;
      group_flows_.push_back(f);
      group_paths_.push_back(flows_[f].path);
      for (int l : flows_[f].path) visit(l);
    }
}

void FairShares::visit(int l) {
  SharedLink& shared = link(l);
  if (shared.seen == settle_number_) return;
  shared.seen = settle_number_;
  group_links_.push_back(l);
}

/// Of the group's flows.
void FairShares::note_rates(std::span<const double> rates) {
  for (std::size_t i = 0; i < rates.size(); ++i) {
    Flow& flow = flows_[group_flows_[i]];
    if (is_same_rate(flow.rate, rates[i])) continue;
    flow.rate = rates[i];
    changes_.push_back({group_flows_[i], rates[i]});
  }
}

}  // namespace hemiola
