// SPDX-License-Identifier: Apache-2.0
#include "hemiola/trees/planned_trees.hpp"

#include <algorithm>
#include <utility>

#include "hemiola/base/longest.hpp"

namespace hemiola::trees {

PlannedTrees::PlannedTrees(const Network& network, const Trees& trees) {
  std::size_t total = 0;
  int ranks = 0;
  for (const Channel& channel : network.channels) ranks = std::max({ranks, channel.src + 1, channel.dst + 1});
  for (const Tree& tree : trees.trees) total += tree.channels.size();
  edges_.reserve(total);
  arrivals_at_.assign(static_cast<std::size_t>(ranks), kNone);
  for (const Tree& tree : trees.trees) {
    add(network, tree);
    first_edge_.push_back(static_cast<std::uint32_t>(edges_.size()));
    first_arrivals_.push_back(static_cast<std::uint32_t>(arrivals_.size()));
  }
}

/// A send waits for the chunks that have come to its source by then; later ones belong to the next arrivals
/// there.
void PlannedTrees::add(const Network& network, const Tree& tree) {
  const auto first = static_cast<std::uint32_t>(edges_.size());
  const auto first_arrivals = static_cast<std::uint32_t>(arrivals_.size());
  for (const std::uint32_t channel : tree.channels) {
    const auto number = static_cast<std::uint32_t>(edges_.size());
    const auto [src, dst] = network.channels[channel];
    Edge edge{.channel = channel, .from = arrivals_at_[static_cast<std::size_t>(src)]};
    if (edge.from != kNone) edge.next_sibling = std::exchange(arrivals_[edge.from].first_next, number);
    std::uint32_t& into = arrivals_at_[static_cast<std::size_t>(dst)];
    if (into == kNone || arrivals_[into].first_next != kNone) {
      into = static_cast<std::uint32_t>(arrivals_.size());
      arrivals_.emplace_back();
    }
    ++arrivals_[into].count;
    edge.into = into;
    edges_.push_back(edge);
  }
  for (const std::uint32_t channel : tree.channels)
    arrivals_at_[static_cast<std::size_t>(network.channels[channel].dst)] = kNone;
  also_.push_back(kNone);
  if (tree.returns) wait_for_adding(tree);
  drop_unawaited(first, first_arrivals);
  measure(network, tree, first);
}

/// The last edge leaves its source's arrivals for others, which the adding edges are among.
void PlannedTrees::wait_for_adding(const Tree& tree) {
  const auto both = static_cast<std::uint32_t>(arrivals_.size());
  const auto last = static_cast<std::uint32_t>(edges_.size() - 1);
  Edge& edge = edges_[last];
  arrivals_.push_back({last, tree.adding + 1, kNone});
  Arrivals& before = arrivals_[edge.from];
  before.first_next = std::exchange(edge.next_sibling, kNone);
  before.then = both;
  edge.from = both;
  also_.back() = both;
}

/// Leaves wait for nothing more: those arrivals need no place.
void PlannedTrees::drop_unawaited(std::uint32_t first_edge, std::uint32_t first_arrivals) {
  std::vector<std::uint32_t> number(arrivals_.size() - first_arrivals, kNone);
  std::uint32_t kept = first_arrivals;
  for (std::uint32_t i = first_arrivals; i < arrivals_.size(); ++i) {
    if (arrivals_[i].first_next == kNone && arrivals_[i].then == kNone) continue;
    number[i - first_arrivals] = kept;
    arrivals_[kept++] = arrivals_[i];
  }
  arrivals_.resize(kept);
  const auto renumber = [&](std::uint32_t* which) {
    if (*which != kNone) *which = number[*which - first_arrivals];
  };
  for (std::uint32_t i = first_arrivals; i < kept; ++i) renumber(&arrivals_[i].then);
  for (std::uint32_t i = first_edge; i < edges_.size(); ++i)
    for (std::uint32_t* which : {&edges_[i].from, &edges_[i].into}) renumber(which);
  renumber(&also_.back());
}

void PlannedTrees::measure(const Network& network, const Tree& tree, std::uint32_t first) {
  for (auto number = static_cast<std::uint32_t>(edges_.size()); number-- > first;) {
    Edge& edge = edges_[number];
    Picoseconds way = beyond(edge.into);
    if (number - first < tree.adding) way = std::max(way, beyond(also_.back()));
    for (const Hop& hop : network.hops_of(edge.channel))
      way += std::min(sized(hop, tree.size).delay, kLongest);
    edge.way = std::min(kLongest, way);
  }
}

Picoseconds PlannedTrees::beyond(std::uint32_t arrivals) const {
  if (arrivals == kNone) return 0;
  Picoseconds longest = beyond(arrivals_[arrivals].then);
  for (std::uint32_t next = arrivals_[arrivals].first_next; next != kNone; next = edges_[next].next_sibling)
    longest = std::max(longest, edges_[next].way);
  return longest;
}

}  // namespace hemiola::trees
