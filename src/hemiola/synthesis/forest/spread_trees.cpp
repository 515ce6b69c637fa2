// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/forest/spread_trees.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/base/longest.hpp"
#include "hemiola/base/progress.hpp"
#include "hemiola/bounds/bottleneck_cut.hpp"
#include "hemiola/synthesis/forest/capacity_graph.hpp"
#include "hemiola/synthesis/forest/switch_splitting.hpp"
#include "hemiola/synthesis/forest/tree_packing.hpp"
#include "hemiola/synthesis/network/assemble.hpp"
#include "hemiola/synthesis/network/listed.hpp"

namespace hemiola::synthesis {
namespace {

constexpr int kMostSpreadUnasked = 16;
constexpr double kGoodSpread = 0.99;

/// Each link's capacity in trees if one tree takes that bandwidth, or more trees than there are. `against`:
/// all links turned round.
CapacityGraph capacities(const Topology& topology, double tree_Bps, bool against) {
  constexpr double kMoreThanAll = std::int64_t{1}
                                  << 32;  // even of as many links as a topology may have, they add up
  CapacityGraph graph(topology.rank_count(), topology.vertex_count());
  for (const Link& link : topology.links()) {
    const int from = against ? link.dst : link.src, to = against ? link.src : link.dst;
    const double fit = std::min(link.bandwidth_Bps / tree_Bps * (1 + 1e-9), kMoreThanAll);
    graph.at(from, to) += static_cast<std::int64_t>(fit);
  }
  return graph;
}

/// Each root's share at the slowest cut.
double optimum(const Topology& topology, std::optional<Rank> root, bool against) {
  std::vector<double> bandwidth;
  for (const Link& link : topology.links()) bandwidth.push_back(link.bandwidth_Bps);
  const auto sense = against ? bounds::Sense::against_links : bounds::Sense::along_links;
  bounds::CutSearch search(topology, bandwidth, sense);
  if (root) return static_cast<double>(search.weakest_around(*root).bandwidth_Bps);
  const bounds::Cut cut = search.slowest_spreading();
  return static_cast<double>(cut.bandwidth_Bps) / cut.ranks_inside;
}

/// The channel from one rank to another; a link that switches were replaced by is the way through them.
std::uint32_t channel_between(const Channels& channels, int from, int to) {
  const std::uint32_t channel = channels.between(Rank{from}, Rank{to});
  if (channel < channels.count()) return channel;
  throw ArgumentError("forest: the way from rank " + std::to_string(from) + " to rank " + std::to_string(to) +
                      " passes other ranks. Use synthesize.");
}

std::vector<std::uint32_t> channels_of(const Channels& channels, const TreeBatch& batch) {
  std::vector<std::uint32_t> tree;
  for (const auto& [from, to] : batch.links) tree.push_back(channel_between(channels, from, to));
  return tree;
}

/// Chunks are owned block-wise: `trees * pieces` of each rank. A batch of m trees takes m * pieces of them.
trees::Trees blocks_of_chunks(const Channels& channels, const std::vector<TreeBatch>& batches, int per_rank,
                              int pieces) {
  trees::Trees trees;
  trees.tree_of.resize(static_cast<std::size_t>(channels.rank_count()) * static_cast<std::size_t>(per_rank));
  std::vector<std::size_t> next(static_cast<std::size_t>(channels.rank_count()));
  for (std::size_t r = 0; r < next.size(); ++r) next[r] = r * static_cast<std::size_t>(per_rank);
  for (const TreeBatch& batch : batches) {
    for (std::int64_t i = 0; i < batch.count * pieces; ++i)
      trees.tree_of[next[static_cast<std::size_t>(batch.root)]++] =
          static_cast<std::uint32_t>(trees.trees.size());
    trees.trees.push_back({.channels = channels_of(channels, batch)});
  }
  return trees;
}

/// The first chunk of every tree, then the second of every tree, and so on.
trees::Trees turns_of_chunks(const Channels& channels, const std::vector<TreeBatch>& batches, int pieces) {
  trees::Trees trees;
  for (const TreeBatch& batch : batches)
    for (std::int64_t i = 0; i < batch.count; ++i)
      trees.trees.push_back({.channels = channels_of(channels, batch)});
  for (int piece = 0; piece < pieces; ++piece)
    for (std::uint32_t tree = 0; tree < trees.trees.size(); ++tree) trees.tree_of.push_back(tree);
  return trees;
}

}  // namespace

/// The number of trees per root and the largest bandwidth at which they fit.
struct SpreadTrees::Rate {
  int trees = 0;
  double tree_Bps = 0;
  double share_Bps() const { return trees * tree_Bps; }
};

SpreadTrees::SpreadTrees(const Topology& topology, const ForestOptions& options)
    : topology_(topology),
      options_(options),
      has_one_root_(options.kind == CollectiveKind::broadcast || options.kind == CollectiveKind::reduce) {
  const std::optional<Rank> root = has_one_root_ ? std::optional(options.root) : std::nullopt;
  const auto time_at = [&](double Bps) {
    const double share_bytes = static_cast<double>(options.buffer_bytes) / root_count();
    return at_most_longest(share_bytes / Bps * 1e12);
  };
  if (reduces()) bound_ += time_at(against_Bps_ = optimum(topology, root, true));
  if (spreads()) bound_ += time_at(along_Bps_ = optimum(topology, root, false));
}

bool SpreadTrees::reduces() const {
  return options_.kind != CollectiveKind::all_gather && options_.kind != CollectiveKind::broadcast;
}

bool SpreadTrees::spreads() const {
  return options_.kind != CollectiveKind::reduce_scatter && options_.kind != CollectiveKind::reduce;
}

int SpreadTrees::root_count() const {
  return has_one_root_ ? 1 : topology_.rank_count();
}

TreesFrom SpreadTrees::trees_from_roots(int trees) const {
  TreesFrom from(static_cast<std::size_t>(topology_.rank_count()), has_one_root_ ? 0 : trees);
  from[static_cast<std::size_t>(options_.root)] = trees;
  return from;
}

double SpreadTrees::share_Bps(bool against) const {
  return against ? against_Bps_ : along_Bps_;
}

SpreadTrees::Rate SpreadTrees::best_rate(int trees, bool against) const {
  const auto fits = [&](double tree_Bps) {
    return capacities(topology_, tree_Bps, against).shortfall(trees_from_roots(trees)) == 0;
  };
  double high = share_Bps(against) / trees;
  if (fits(high)) return {trees, high};
  // Trees as thin as this fit if ranks reach each other.
  double least = high;
  for (const Link& link : topology_.links()) least = std::min(least, link.bandwidth_Bps);
  double low = least / (static_cast<double>(trees) * topology_.rank_count());
  constexpr int kSteps = 40;
  Parts parts(kSteps);
  for (int step = 0; step < kSteps; ++step) {
    parts.next();
    const double middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return {trees, low};
}

SpreadTrees::Rate SpreadTrees::choose_rate(bool against) const {
  if (options_.trees > 0) return best_rate(options_.trees, against);
  const double enough_Bps = kGoodSpread * share_Bps(against);
  Rate best;
  Parts parts(kMostSpreadUnasked);
  for (int trees = 1; trees <= kMostSpreadUnasked && best.share_Bps() < enough_Bps; ++trees) {
    parts.next();
    if (const Rate rate = best_rate(trees, against); rate.share_Bps() > best.share_Bps()) best = rate;
  }
  return best;
}

/// An all-gather or a broadcast on the channels, which are turned round where `against` is.
trees::Turned SpreadTrees::gather(const Channels& channels, Rate rate, bool against) const {
  const TreesFrom from = trees_from_roots(rate.trees);
  Parts parts(2);
  parts.next();
  const CapacityGraph graph = without_switches(capacities(topology_, rate.tree_Bps, against), from);
  parts.next();
  const std::vector<TreeBatch> batches = pack_trees(graph, from);
  const trees::Trees trees =
      has_one_root_ ? turns_of_chunks(channels, batches, options_.pieces)
                    : blocks_of_chunks(channels, batches, rate.trees * options_.pieces, options_.pieces);
  return listed(channels, trees, {.rule = has_one_root_ ? trees::TurnRule::turn : trees::TurnRule::way});
}

Synthesis SpreadTrees::operator()() const {
  const bool both = reduces() && spreads();
  Parts parts(both ? 3 : 2);
  parts.next();
  const Rate rate = choose_rate(reduces());
  parts.next();
  const std::int64_t per_root = std::int64_t{rate.trees} * options_.pieces;
  const Collective collective =
      Collective::make(options_.kind, topology_.rank_count(), root_count() * per_root, options_.root);
  const Channels channels(topology_, chunk_bytes(collective, options_.buffer_bytes), LatencyModel::pipelined);
  const trees::Turned there = gather(reduces() ? channels.reversed() : channels, rate, reduces());
  if (!reduces()) return {assemble(collective, channels, there.sends), there.end, bound_, 1, false};

  Sends sends = turned_round(there.sends, channels);
  Picoseconds duration = there.end;
  if (spreads()) {
    // The way back has as many trees, at the bandwidth that fits there.
    parts.next();
    const trees::Turned spread = gather(channels, best_rate(rate.trees, false), false);
    sends = concatenated(std::move(sends), spread.sends);
    duration += spread.end;
  }
  return {assemble(collective, channels, std::move(sends)), duration, bound_, 1, false};
}

}  // namespace hemiola::synthesis
