// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "hemiola/base/interrupt.hpp"
#include "hemiola/synthesis/late/late_trees.hpp"
#include "hemiola/synthesis/network/assemble.hpp"
#include "hemiola/synthesis/network/listed.hpp"
#include "hemiola/synthesis/network/replay.hpp"
#include "hemiola/trees/add_in_steps.hpp"

namespace hemiola::synthesis {
namespace {

std::vector<RankPair> pairs_of(const LateTrees& trees) {
  std::vector<RankPair> pairs;
  for (const auto* phase : {&trees.wait, &trees.finish})
    for (const HopTree& tree : *phase) pairs.insert(pairs.end(), tree.hops.begin(), tree.hops.end());
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

trees::Trees on_channels(const Channels& channels, const std::vector<HopTree>& hop_trees) {
  trees::Trees found;
  for (const HopTree& hop_tree : hop_trees) {
    trees::Tree tree{.adding = hop_tree.adding, .returns = hop_tree.returns, .dates = hop_tree.dates};
    for (const RankPair& hop : hop_tree.hops) tree.channels.push_back(channels.between(hop.src, hop.dst));
    found.tree_of.push_back(static_cast<std::uint32_t>(found.trees.size()));
    found.trees.push_back(std::move(tree));
    heed_interrupt(static_cast<std::int64_t>(hop_tree.hops.size()));
  }
  return found;
}

/// Dates as steps.
Sends as_dated(const trees::Trees& trees) {
  Sends sends;
  for (std::uint32_t chunk = 0; chunk < trees.tree_of.size(); ++chunk) {
    const trees::Tree& tree = trees.trees[trees.tree_of[chunk]];
    for (std::size_t i = 0; i < tree.channels.size(); ++i)
      sends.push_back({tree.dates[i], tree.channels[i], chunk, i < tree.adding});
  }
  std::stable_sort(sends.begin(), sends.end());
  return sends;
}

struct Parts {
  Sends wait, finish;
};

/// The whole time without a delay, and the rest after a long one: both count.
Picoseconds score(const Channels& channels, const Parts& parts, int chunk_count) {
  return replay(channels, concatenated(parts.wait, parts.finish), chunk_count) +
         replay(channels, parts.finish, chunk_count);
}

/// Each part as dated, or by the better list.
Parts best_parts(const Channels& channels, const LateTrees& trees) {
  const trees::Trees wait = on_channels(channels, trees.wait), finish = on_channels(channels, trees.finish);
  Parts best{as_dated(wait), as_dated(finish)};
  if (trees.rules.empty()) return best;
  const int chunk_count = static_cast<int>(trees.owner.size());
  Picoseconds least = score(channels, best, chunk_count);
  const auto try_other = [&](Parts other) {
    const Picoseconds found = score(channels, other, chunk_count);
    if (found >= least) return;
    least = found;
    best = std::move(other);
  };
  try_other({best_listed(channels, wait, trees.rules).sends, best.finish});
  try_other({best.wait, best_listed(channels, finish, trees.rules).sends});
  return best;
}

}  // namespace

Schedule around(const Topology& topology, const LateTrees& trees, std::int64_t buffer_bytes) {
  const Collective collective =
      Collective::with_owners(CollectiveKind::all_reduce, topology.rank_count(), trees.owner);
  const Channels channels(topology, pairs_of(trees), chunk_bytes(collective, buffer_bytes),
                          LatencyModel::pipelined);
  Parts parts = best_parts(channels, trees);
  ScheduleBuilder builder(collective);
  if (!trees.weight.empty()) builder.set_chunk_weights(trees.weight);
  trees::add_in_steps(&builder, channels.network(), concatenated(std::move(parts.wait), parts.finish));
  return builder.finish();
}

}  // namespace hemiola::synthesis
