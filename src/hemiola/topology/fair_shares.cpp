#include "hemiola/topology/fair_shares.hpp"

#include <algorithm>
#include <limits>

#include "hemiola/base/heedful.hpp"

namespace hemiola {
namespace {

/// Operations, or more, that a look at a flow and its links takes.
constexpr std::int64_t kPerFlow = 64;

}  // namespace

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
  for_heedful_blocks(changed_links_.size(), [this](std::size_t begin, std::size_t end) {
    for (const int l : std::span(changed_links_).subspan(begin, end - begin))
      std::erase_if(link(l).flows, [this](FlowId f) { return !flows_[f].is_alive; });
  });
  for_heedful_blocks(changed_links_.size(), [this](std::size_t begin, std::size_t end) {
    for (const int l : std::span(changed_links_).subspan(begin, end - begin)) settle_around(l);
  });
  changed_links_.clear();
  free_.insert(free_.end(), removed_.begin(), removed_.end());
  removed_.clear();
  return changes_;
}

/// Those that are connected to a link that has changed, unless they have been settled already.
void FairShares::settle_around(int l) {
  link(l).has_changed = false;
  if (link(l).seen == settle_number_ || link(l).flows.empty()) return;
  if (const FlowId f = link(l).flows.front(); is_alone(f)) {
    fill_alone(f);
  } else {
    collect_from(l);
    heed_interrupt(kPerFlow * static_cast<std::int64_t>(group_flows_.size()));
    note_rates(filling_.fill(group_paths_, capacity_));
  }
}

/// Whether no other flow is on any of its links, none of which holds dead ones.
bool FairShares::is_alone(FlowId flow) const {
  return std::ranges::all_of(flows_[flow].path, [this](int l) { return link(l).flows.size() == 1; });
}

void FairShares::fill_alone(FlowId flow) {
  double least = std::numeric_limits<double>::infinity();
  for (int l : flows_[flow].path) {
    link(l).seen = settle_number_;
    least = std::min(least, capacity_[static_cast<std::size_t>(l)]);
  }
  note_rate(flow, least);
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
  for (std::size_t i = 0; i < rates.size(); ++i) note_rate(group_flows_[i], rates[i]);
}

void FairShares::note_rate(FlowId flow, double rate) {
  if (is_same_rate(flows_[flow].rate, rate)) return;
  flows_[flow].rate = rate;
  changes_.push_back({flow, rate});
}

}  // namespace hemiola
