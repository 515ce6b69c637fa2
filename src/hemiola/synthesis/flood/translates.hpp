// SPDX-License-Identifier: Apache-2.0
// Floods of networks that look alike from every rank, such as tori: every chunk flows down the same tree, moved along
// with its source. Where the tree's edges use each direction once a tick, so do all trees together each link.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hemiola/synthesis/flood/flood.hpp"
#include "hemiola/synthesis/flood/grid_shape.hpp"
#include "hemiola/synthesis/network/sends.hpp"

namespace hemiola::synthesis {

/// A flood in the fewest ticks that its links allow, or where chunks leave late, next to it. For networks
/// whose ranks, numbered row by row in a grid of some shape, have neighbours at the same offsets, counted
/// around the grid's ends: rings, tori, circulants, hypercubes, and a link for every pair. And for floods in
/// which every rank begins with as many chunks of its own. A tick is the time in which a link takes one
/// chunk, which may leave again `lag` ticks after the next. Source: after the spanning trees with labels of
/// their own of edge-disjoint broadcasts in Cayley graphs; the tree is grown tick by tick, the nearest ranks
/// first, by matching directions to ranks.
class Translates {
 public:
  static constexpr std::uint32_t kIdle = ~0u;
  static constexpr int kNobody = -1;
  /// Of rank 0's trees.
  struct Edge {
    int parent = kNobody;  ///< rank that sends
    int tree = 0;
  };
  using Tick = std::vector<Edge>;  ///< by direction

  /// Nothing for other networks and floods, or where no tree was found. The flood must outlive the result. Cost: O(links)
  /// per shape of which the first sides fit, O(ranks) per chunk of a rank and direction, and memory for that.
  static std::optional<Translates> of(const Flood& flood, int lag);

  int tick_count() const { return static_cast<int>(tree_.size()); }
  /// The chunk that each channel carries in a tick; kIdle for nothing. Cost: O(channels).
  void find_picks(int tick, std::vector<std::uint32_t>* picks);

 private:
  Translates(const Flood& flood, GridShape shape, const std::vector<int>& directions, std::vector<Tick> tree);

  const Flood* flood_;
  GridShape shape_;
  std::vector<Tick> tree_;
  std::vector<std::uint32_t> direction_;  ///< by channel
  /// By direction and sender, in the tick at hand: the rank of the tree that it serves.
  std::vector<std::vector<int>> roots_;
};

/// All sends of a flood by translates, or nothing: where there are none, and beyond 2^26 sends.
std::optional<Sends> flood_by_translates(const Flood& flood, int lag);

}  // namespace hemiola::synthesis
