// SPDX-License-Identifier: Apache-2.0
// Trees as their schedule needs them: which ranks wait for which, and how long each send's way is. Chunks of
// one tree share this.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/base/huge_pages.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/trees/network.hpp"
#include "hemiola/trees/trees.hpp"

namespace hemiola::trees {

/// The time of a chunk of that size on a hop.
inline Hop sized(const Hop& hop, double size) {
  if (size == 1) return hop;
  const auto busy = static_cast<Picoseconds>(static_cast<double>(hop.busy) * size + 0.5);
  return {hop.link, busy, hop.delay - hop.busy + busy};
}

class PlannedTrees {
 public:
  static constexpr std::uint32_t kNone = ~0u;

  /// Of a chunk, over one channel of its tree.
  struct Edge {
    std::uint32_t channel;
    std::uint32_t from = kNone;  ///< the arrivals that it waits for; kNone: it may go at once
    std::uint32_t into = kNone;  ///< those that it is one of; kNone where nobody waits for them
    std::uint32_t next_sibling = kNone;
    Picoseconds way = 0;  ///< from its start to the last leaf, at most kLongest
  };
  /// The arrivals at one rank before it sends a chunk on. Arrivals that are complete count as one of `then`.
  struct Arrivals {
    std::uint32_t first_next = kNone;  ///< the edges that they enable together, as a list
    std::uint32_t count = 0;
    std::uint32_t then = kNone;
  };

  PlannedTrees(const Network& network, const Trees& trees);

  std::uint32_t edge_count() const { return first_edge_.back(); }
  const Edge& edge(std::uint32_t number) const { return edges_[number]; }
  /// Further arrivals that an adding edge of the tree is one of, or kNone.
  std::uint32_t also(std::uint32_t tree) const { return also_[tree]; }
  const Arrivals& arrivals(std::uint32_t number) const { return arrivals_[number]; }
  /// The edges of a tree stand one behind the other, and so do its arrivals.
  std::uint32_t first_edge(std::uint32_t tree) const { return first_edge_[tree]; }
  std::uint32_t first_arrivals(std::uint32_t tree) const { return first_arrivals_[tree]; }

 private:
  void add(const Network& network, const Tree& tree);
  std::uint32_t arrivals_to_send(std::uint32_t at);
  void wait_for_adding(const Tree& tree);
  void drop_unawaited(std::uint32_t first_edge, std::uint32_t first_arrivals);
  void measure(const Network& network, const Tree& tree, std::uint32_t first);
  Picoseconds beyond(std::uint32_t arrivals) const;

  LargeVector<Edge> edges_;
  LargeVector<Arrivals> arrivals_;
  std::vector<std::uint32_t> first_edge_{0}, first_arrivals_{0};
  std::vector<std::uint32_t> also_;         ///< by tree
  std::vector<std::uint32_t> arrivals_at_;  ///< by rank, while a tree is added
};

}  // namespace hemiola::trees
