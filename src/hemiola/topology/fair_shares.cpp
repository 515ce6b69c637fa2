// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/fair_shares.hpp"

#include <algorithm>
#include <utility>

#include "hemiola/base/heedful.hpp"

namespace hemiola {
namespace {

/// Operations, or more, that a look at a flow and its links takes.
constexpr std::int64_t kPerFlow = 64;
/// Rates are mended where one flow in so many, or fewer, is on a link that has changed: else filling is faster.
constexpr std::int64_t kFewestUsed = 4;
/// Mending is given up after so many looks at each use of a link by a flow: a part of the cost of filling.
constexpr std::int64_t kLooksPerUse = 2;
/// After mending was given up, filling is next for one settle, two, four, … but no more.
constexpr int kLongestPause = 64;

}  // namespace

FairShares::FairShares(std::vector<double> capacity)
    : shared_{.flows = {}, .links = std::vector<Link>(capacity.size()), .capacity = std::move(capacity)},
      repair_(&shared_) {}

FlowId FairShares::add(std::span<const int> path) {
  if (free_.empty()) {
    free_.push_back(static_cast<FlowId>(shared_.flows.size()));
    shared_.flows.emplace_back();
  }
  const FlowId f = free_.back();
  free_.pop_back();
  flow(f) = Flow{.path = path, .is_alive = true};
  for (int l : path) link(l).flows.push_back(f);
  use_count_ += static_cast<std::int64_t>(path.size());
  added_.push_back(f);
  mark_changed(path);
  return f;
}

void FairShares::remove(FlowId f) {
  flow(f).is_alive = false;
  removed_.push_back(f);
  use_count_ -= static_cast<std::int64_t>(flow(f).path.size());
  mark_changed(flow(f).path);
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
      std::erase_if(link(l).flows, [this](FlowId f) { return !flow(f).is_alive; });
  });
  std::erase_if(changed_links_, [this](int l) { return settle_alone(l); });
  if (!changed_links_.empty() && !(are_few_concerned() && repair()))
    for (const int l : changed_links_) fill_around(l);
  changed_links_.clear();
  added_.clear();
  free_.insert(free_.end(), removed_.begin(), removed_.end());
  removed_.clear();
  return changes_;
}

/// Whether nothing is left to do for a link that has changed: no flow is on it, or one that shares no link.
bool FairShares::settle_alone(int l) {
  link(l).has_changed = false;
  if (link(l).flows.empty()) return true;
  const FlowId f = link(l).flows.front();
  if (flow(f).seen == settle_number_) return true;
  if (!is_alone(f)) return false;
  fill_alone(f);
  return true;
}

/// Whether no other flow is on any of its links, none of which holds dead ones.
bool FairShares::is_alone(FlowId f) const {
  return std::ranges::all_of(shared_.flow(f).path, [this](int l) { return link(l).flows.size() == 1; });
}

void FairShares::fill_alone(FlowId f) {
  flow(f).seen = settle_number_;
  flow(f).full_link = *std::ranges::min_element(
      flow(f).path, [this](int a, int b) { return shared_.capacity_of(a) < shared_.capacity_of(b); });
  note_rate(f, shared_.capacity_of(flow(f).full_link));
}

bool FairShares::are_few_concerned() const {
  std::int64_t uses = 0;
  for (int l : changed_links_) uses += static_cast<std::int64_t>(link(l).flows.size());
  return uses * kFewestUsed <= use_count_;
}

/// Of the flows that the changed links concern; false: that is much, or was so of late.
bool FairShares::repair() {
  if (pause_left_ > 0) {
    --pause_left_;
    return false;
  }
  std::erase_if(added_, [this](FlowId f) { return !flow(f).is_alive || flow(f).seen == settle_number_; });
  if (!repair_.repair(changed_links_, added_, kLooksPerUse * use_count_)) {
    pause_left_ = next_pause_;
    next_pause_ = std::min(2 * next_pause_, kLongestPause);
    return false;
  }
  next_pause_ = 1;
  for (FlowId f : repair_.concerned()) note_rate(f, flow(f).next_rate);
  return true;
}

/// Those that are connected to a link that has changed, unless they have been settled already.
void FairShares::fill_around(int l) {
  if (link(l).seen == settle_number_) return;
  collect_from(l);
  heed_interrupt(kPerFlow * static_cast<std::int64_t>(group_flows_.size()));
  const std::span<const double> rates = filling_.fill(group_paths_, shared_.capacity);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    flow(group_flows_[i]).full_link = filling_.full_links()[i];
    note_rate(group_flows_[i], rates[i]);
  }
}

/// Collects the links and flows that are connected to `start`.
void FairShares::collect_from(int start) {
  group_links_.clear();
  group_flows_.clear();
  group_paths_.clear();
  visit(start);
  for (std::size_t i = 0; i < group_links_.size(); ++i)  // grows while it is read
    for (FlowId f : link(group_links_[i]).flows) {
      if (flow(f).seen == settle_number_) continue;
      flow(f).seen = settle_number_;
      group_flows_.push_back(f);
      group_paths_.push_back(flow(f).path);
      for (int l : flow(f).path) visit(l);
    }
}

void FairShares::visit(int l) {
  if (link(l).seen == settle_number_) return;
  link(l).seen = settle_number_;
  group_links_.push_back(l);
}

void FairShares::note_rate(FlowId f, double rate) {
  if (is_same_rate(flow(f).rate, rate)) return;
  flow(f).rate = rate;
  changes_.push_back({f, rate});
}

}  // namespace hemiola
