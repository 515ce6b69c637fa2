// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/forest/forest.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/base/progress.hpp"
#include "hemiola/synthesis/forest/reduce_trees.hpp"
#include "hemiola/synthesis/forest/spread_trees.hpp"
#include "hemiola/synthesis/network/phases.hpp"
#include "hemiola/synthesis/network/reachability.hpp"

namespace hemiola::synthesis {
namespace {

constexpr int kMostVertices = 256, kMostPieces = 4096;
/// Beyond, trees from every rank take seconds to pack, and the bounds decide.
constexpr int kMostRanksForBoth = 48;
/// The share of the time in which deep trees are filled and emptied.
constexpr double kFilling = 0.01;

void check(const Topology& topology, const ForestOptions& options) {
  constexpr std::array kKnown{CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                              CollectiveKind::all_reduce, CollectiveKind::broadcast, CollectiveKind::reduce};
  if (std::find(kKnown.begin(), kKnown.end(), options.kind) == kKnown.end())
    throw ArgumentError(
        "forest: expected all_gather, reduce_scatter, all_reduce, broadcast or reduce, found " +
        std::string(name_of(options.kind)));
  if (topology.rank_count() < 2 || topology.vertex_count() > kMostVertices)
    throw ArgumentError("forest: expected at least 2 ranks and at most " + std::to_string(kMostVertices) +
                        " ranks and switches, found " + std::to_string(topology.vertex_count()));
  if (options.root < 0 || options.root >= topology.rank_count())
    throw ArgumentError("forest: expected a root in 0 … " + std::to_string(topology.rank_count() - 1) +
                        ", found " + std::to_string(options.root));
  if (options.trees < 0 || options.trees > kMostTrees)
    throw ArgumentError("forest: expected 1 … " + std::to_string(kMostTrees) + " trees, found " +
                        std::to_string(options.trees));
  if (options.pieces < 1 || options.pieces > kMostPieces)
    throw ArgumentError("forest: expected 1 … " + std::to_string(kMostPieces) + " pieces, found " +
                        std::to_string(options.pieces));
  if (options.buffer_bytes < 0)
    throw ArgumentError("forest: expected nbytes >= 0, found " + std::to_string(options.buffer_bytes));
}

/// Shares of thinner links, and times over them, are no numbers.
void check_bandwidths(const Topology& topology) {
  constexpr double kLeast_Bps = 1e-100;
  for (const Link& link : topology.links())
    if (link.bandwidth_Bps < kLeast_Bps)
      throw ArgumentError("forest: expected links of at least 1e-100 B/s, found one from " +
                          std::to_string(link.src) + " to " + std::to_string(link.dst) + " with less");
}

void check_connected(const Topology& topology, const ForestOptions& options) {
  const int ranks = topology.rank_count();
  const Channels channels(topology, 0, LatencyModel::pipelined);
  for (const Phase& phase : phases_of(Collective::make(options.kind, ranks, ranks, options.root)))
    check_reachable(phase.reducing ? channels.reversed() : channels, phase);
}

/// Up and down the same trees, or from every rank and back; the faster one where both can be tried.
Synthesis all_reduce(const SpreadTrees& spread, const ReduceTrees& reduce, int rank_count) {
  if (rank_count > kMostRanksForBoth) {
    const auto filled = static_cast<double>(reduce.bound()) / (1 - kFilling);
    return filled < static_cast<double>(spread.bound()) ? reduce() : spread();
  }
  Parts parts(2);
  parts.next();
  Synthesis reduced = reduce();
  if (reduced.duration <= spread.bound()) return reduced;
  parts.next();
  Synthesis spreading = spread();
  return spreading.duration < reduced.duration ? spreading : reduced;
}

}  // namespace

Synthesis synthesize_forest(const Topology& topology, const ForestOptions& options) {
  check(topology, options);
  check_bandwidths(topology);
  check_connected(topology, options);
  Parts parts(3);
  parts.next();
  std::optional<ReduceTrees> up_and_down;
  if (options.kind == CollectiveKind::all_reduce) up_and_down.emplace(topology, options);
  const bool is_possible = up_and_down && up_and_down->exist();
  if (options.up_and_down_only) {
    if (!is_possible) throw ArgumentError("forest: expected an all_reduce between ranks joined both ways");
    parts.next(2);
    return (*up_and_down)();
  }
  parts.next();
  const SpreadTrees spread(topology, options);
  parts.next();
  if (!is_possible) return spread();
  const ReduceTrees& reduce = *up_and_down;
  Synthesis found = all_reduce(spread, reduce, topology.rank_count());
  found.bound = reduce.bound();
  return found;
}

}  // namespace hemiola::synthesis
