// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/fair_filling.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace hemiola {
namespace {

/// A look serves one flow in so many at least, or it was the last.
constexpr std::size_t kFewestFilled = 10;
constexpr double kOpen = -1;  ///< the rate of a flow that has none yet
constexpr std::uint32_t kLast = ~std::uint32_t{0};

}  // namespace

/// Where flows are much alike a few levels serve all, and each is found by a look at all that are left. Where a look
/// serves few, links lead to their flows.
std::span<const double> FairFilling::fill(std::span<const std::span<const int>> paths,
                                          std::span<const double> capacity) {
  count_flows(paths, capacity);
  while (!open_flows_.empty()) {
    const std::size_t before = open_flows_.size();
    if (fill_a_level() * kFewestFilled < before) fill_link_by_link();
  }
  return rates_;
}

void FairFilling::count_flows(std::span<const std::span<const int>> paths, std::span<const double> capacity) {
  paths_ = paths;
  rates_.resize(paths.size());
  full_links_.resize(paths.size());
  open_flows_.resize(paths.size());
  std::iota(open_flows_.begin(), open_flows_.end(), 0u);
  if (links_.size() < capacity.size()) links_.resize(capacity.size());
  open_links_.clear();
  level_ = 0;
  for (const std::span<const int> path : paths)
    for (int l : path) {
      LinkState& state = link(l);
      if (state.open++ > 0) continue;
      state.spare = capacity[static_cast<std::size_t>(l)];
      open_links_.push_back(l);
    }
}

/// Flows without a rate can all have the least share of a link at least; those on a link that has no more are fixed at
/// that. Returns how many.
std::size_t FairFilling::fill_a_level() {
  double least = std::numeric_limits<double>::infinity();
  for (int l : open_links_) least = std::min(least, link(l).share());
  raise_level(least);
  std::size_t full = 0;
  for (int l : open_links_) full += link(l).is_full = is_same_rate(link(l).share(), least);
  if (full == open_links_.size()) return fix_all();
  const std::size_t fixed = std::erase_if(open_flows_, [&](std::uint32_t f) {
    for (int l : paths_[f]) {
      if (!link(l).is_full) continue;
      fix(f, l);
      return true;
    }
    return false;
  });
  std::erase_if(open_links_, [&](int l) { return link(l).open == 0; });
  return fixed;
}

std::size_t FairFilling::fix_all() {
  const std::size_t fixed = open_flows_.size();
  for (std::uint32_t f : open_flows_) {
    rates_[f] = level_;
    full_links_[f] = paths_[f].front();
  }
  for (int l : open_links_) link(l).open = 0;
  open_flows_.clear();
  return fixed;
}

void FairFilling::string_uses() {
  uses_.clear();
  for (int l : open_links_) link(l).first_use = kLast;
  for (std::uint32_t f : open_flows_) {
    rates_[f] = kOpen;
    for (int l : paths_[f]) {
      uses_.push_back({f, link(l).first_use});
      link(l).first_use = static_cast<std::uint32_t>(uses_.size() - 1);
    }
  }
}

/// The link that gives its flows least decides for them; the bandwidth that they leave elsewhere is for the
/// others. A link's share only grows while others are filled, so one that is out of date goes back into the
/// heap.
void FairFilling::fill_link_by_link() {
  string_uses();
  shares_.clear();
  for (int l : open_links_) shares_.emplace_back(link(l).share(), l);
  std::make_heap(shares_.begin(), shares_.end(), std::greater<>{});
  while (!shares_.empty()) {
    std::pop_heap(shares_.begin(), shares_.end(), std::greater<>{});
    const auto [known, l] = shares_.back();
    shares_.pop_back();
    if (link(l).open == 0) continue;
    const double share = link(l).share();
    if (!is_same_rate(share, known)) {
      shares_.emplace_back(share, l);
      std::push_heap(shares_.begin(), shares_.end(), std::greater<>{});
      continue;
    }
    raise_level(share);
    for (std::uint32_t u = link(l).first_use; u != kLast; u = uses_[u].next)
      if (rates_[uses_[u].flow] == kOpen) fix(uses_[u].flow, l);
  }
  open_flows_.clear();
}

void FairFilling::raise_level(double share) {
  if (share > level_ && !is_same_rate(share, level_)) level_ = share;
}

void FairFilling::fix(std::uint32_t flow, int full_link) {
  rates_[flow] = level_;
  full_links_[flow] = full_link;
  for (int l : paths_[flow]) {
    link(l).spare -= level_;
    --link(l).open;
  }
}

}  // namespace hemiola
