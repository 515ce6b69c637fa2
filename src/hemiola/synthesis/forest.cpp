#include "hemiola/synthesis/forest.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/bounds/bottleneck_cut.hpp"
#include "hemiola/synthesis/assemble.hpp"
#include "hemiola/synthesis/capacity_graph.hpp"
#include "hemiola/synthesis/phases.hpp"
#include "hemiola/synthesis/reachability.hpp"
#include "hemiola/synthesis/replay.hpp"
#include "hemiola/synthesis/switch_splitting.hpp"
#include "hemiola/synthesis/tree_packing.hpp"
#include "hemiola/synthesis/tree_scheduler.hpp"

namespace hemiola::synthesis {
namespace {

constexpr int kMostVertices = 256, kMostTrees = 64, kMostTreesUnasked = 16, kMostPieces = 4096;
constexpr double kGoodEnough = 0.99;

void check(const Topology& topology, const ForestOptions& options) {
  const bool is_known = options.kind == CollectiveKind::all_gather ||
                        options.kind == CollectiveKind::reduce_scatter ||
                        options.kind == CollectiveKind::all_reduce;
  if (!is_known)
    throw ArgumentError("forest: expected all_gather, reduce_scatter or all_reduce, found " +
                        std::string(name_of(options.kind)));
  if (topology.rank_count() < 2 || topology.vertex_count() > kMostVertices)
    throw ArgumentError("forest: expected at least 2 ranks and at most " + std::to_string(kMostVertices) +
                        " ranks and switches, found " + std::to_string(topology.vertex_count()));
  if (options.trees < 0 || options.trees > kMostTrees)
    throw ArgumentError("forest: expected 1 … " + std::to_string(kMostTrees) + " trees per rank, found " +
                        std::to_string(options.trees));
  if (options.pieces < 1 || options.pieces > kMostPieces)
    throw ArgumentError("forest: expected 1 … " + std::to_string(kMostPieces) + " pieces, found " +
                        std::to_string(options.pieces));
  if (options.buffer_bytes < 0)
    throw ArgumentError("forest: expected nbytes >= 0, found " + std::to_string(options.buffer_bytes));
}

/// What each link can carry if one tree takes that bandwidth. `against`: all links turned round.
CapacityGraph capacities(const Topology& topology, double tree_Bps, bool against) {
  CapacityGraph graph(topology.rank_count(), topology.vertex_count());
  for (const Link& link : topology.links()) {
    const int from = against ? link.dst : link.src, to = against ? link.src : link.dst;
    graph.at(from, to) += static_cast<std::int64_t>(link.bandwidth_Bps / tree_Bps * (1 + 1e-9));
  }
  return graph;
}

/// The number of trees per rank and the largest bandwidth at which they fit.
struct Rate {
  int trees = 0;
  double tree_Bps = 0;
  double share_Bps() const { return trees * tree_Bps; }
};

Rate best_rate(const Topology& topology, int trees, double optimum_Bps, bool against) {
  const auto fits = [&](double tree_Bps) {
    return capacities(topology, tree_Bps, against).shortfall(trees) == 0;
  };
  double high = optimum_Bps / trees;
  if (fits(high)) return {trees, high};
  // Trees as thin as this fit wherever ranks reach each other.
  double least = high;
  for (const Link& link : topology.links()) least = std::min(least, link.bandwidth_Bps);
  double low = least / (static_cast<double>(trees) * topology.rank_count());
  for (int step = 0; step < 40; ++step) {
    const double middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return {trees, low};
}

Rate choose_rate(const Topology& topology, const ForestOptions& options, double optimum_Bps, bool against) {
  if (options.trees > 0) return best_rate(topology, options.trees, optimum_Bps, against);
  Rate best;
  for (int trees = 1; trees <= kMostTreesUnasked && best.share_Bps() < kGoodEnough * optimum_Bps; ++trees)
    if (const Rate rate = best_rate(topology, trees, optimum_Bps, against);
        rate.share_Bps() > best.share_Bps())
      best = rate;
  return best;
}

/// Each rank's share at the slowest cut.
double optimum(const Topology& topology, bool against) {
  std::vector<double> bandwidth;
  for (const Link& link : topology.links()) bandwidth.push_back(link.bandwidth_Bps);
  const auto sense = against ? bounds::Sense::against_links : bounds::Sense::along_links;
  const bounds::Cut cut = bounds::CutSearch(topology, bandwidth, sense).slowest_spreading();
  return static_cast<double>(cut.bandwidth_Bps) / cut.ranks_inside;
}

/// The channel from one rank to another; a link that switches were replaced by is the way through them.
std::uint32_t channel_between(const Channels& channels, int from, int to) {
  for (std::uint32_t c = channels.first_out(from); c < channels.first_out(from + 1); ++c)
    if (channels[c].dst == to) return c;
  throw ArgumentError("forest: the way from rank " + std::to_string(from) + " to rank " + std::to_string(to) +
                      " passes other ranks. Use synthesize.");
}

/// Chunks are owned block-wise: `trees * pieces` of each rank. A batch of m trees takes m * pieces of them.
Trees trees_of_chunks(const Channels& channels, const std::vector<TreeBatch>& batches, int per_rank,
                      int pieces) {
  Trees trees(static_cast<std::size_t>(channels.rank_count()) * static_cast<std::size_t>(per_rank));
  std::vector<std::size_t> next(static_cast<std::size_t>(channels.rank_count()));
  for (std::size_t r = 0; r < next.size(); ++r) next[r] = r * static_cast<std::size_t>(per_rank);
  for (const TreeBatch& batch : batches) {
    std::vector<std::uint32_t> tree;
    for (const auto& [from, to] : batch.links) tree.push_back(channel_between(channels, from, to));
    for (std::int64_t i = 0; i < batch.count * pieces; ++i)
      trees[next[static_cast<std::size_t>(batch.root)]++] = tree;
  }
  return trees;
}

struct Gathered {
  Sends sends;
  Picoseconds duration = 0;
};

/// An all-gather on the channels, which are turned round where `against` is.
Gathered gather(const Topology& topology, const Channels& channels, Rate rate, int pieces, bool against) {
  const CapacityGraph graph = without_switches(capacities(topology, rate.tree_Bps, against), rate.trees);
  const int per_rank = rate.trees * pieces;
  const Trees trees = trees_of_chunks(channels, pack_trees(graph, rate.trees), per_rank, pieces);
  const int chunk_count = channels.rank_count() * per_rank;
  Gathered gathered;
  SearchState state;
  TreeScheduler(channels, trees, 0).run(&state, &gathered.sends);
  number_steps(channels, chunk_count, &gathered.sends);
  gathered.duration = replay(channels, gathered.sends, chunk_count);
  return gathered;
}

}  // namespace

Synthesis synthesize_forest(const Topology& topology, const ForestOptions& options) {
  check(topology, options);
  const bool reduces = options.kind != CollectiveKind::all_gather;
  const int ranks = topology.rank_count();
  Phase everyone;
  everyone.to_all = true;
  for (Rank rank : indices<Rank>(ranks)) everyone.holders.push_back({rank});
  check_reachable(Channels(topology, 0, LatencyModel::pipelined), everyone);

  const double optimum_Bps = optimum(topology, reduces);
  const Rate rate = choose_rate(topology, options, optimum_Bps, reduces);
  const int per_rank = rate.trees * options.pieces;
  const Collective collective = Collective::make(options.kind, ranks, std::int64_t{ranks} * per_rank);
  const Channels channels(topology, chunk_bytes(collective, options.buffer_bytes), LatencyModel::pipelined);
  const double share_bytes = static_cast<double>(options.buffer_bytes) / ranks;
  auto bound = static_cast<Picoseconds>(share_bytes / optimum_Bps * 1e12);
  const Gathered there =
      gather(topology, reduces ? channels.reversed() : channels, rate, options.pieces, reduces);
  if (!reduces) return {assemble(collective, channels, there.sends), there.duration, bound, 1, false};

  Sends sends = turned_round(there.sends, channels);
  Picoseconds duration = there.duration;
  if (options.kind == CollectiveKind::all_reduce) {
    // The way back has as many trees, at the bandwidth that fits there.
    const double back_Bps = optimum(topology, false);
    const Rate back = best_rate(topology, rate.trees, back_Bps, false);
    const Gathered spread = gather(topology, channels, back, options.pieces, false);
    sends = concatenated(std::move(sends), spread.sends);
    duration += spread.duration;
    bound += static_cast<Picoseconds>(share_bytes / back_Bps * 1e12);
  }
  return {assemble(collective, channels, std::move(sends)), duration, bound, 1, false};
}

}  // namespace hemiola::synthesis
