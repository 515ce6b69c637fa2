// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/late/late_sources.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "hemiola/synthesis/forest/forest.hpp"
#include "hemiola/topology/degraded.hpp"

namespace hemiola::synthesis {
namespace {

/// Trees of the others, in the numbers of all ranks.
std::vector<HopTree> numbered_with(std::vector<HopTree> trees, Rank late) {
  for (HopTree& tree : trees)
    for (RankPair& hop : tree.hops) hop = {with_late(hop.src, late), with_late(hop.dst, late)};
  return trees;
}

/// Whom the late rank sends a chunk first.
Rank owner_of(const HopTree& down, Rank late) {
  const auto own =
      std::find_if(down.hops.begin(), down.hops.end(), [&](const RankPair& hop) { return hop.src == late; });
  return own->dst;
}

}  // namespace

PackedAround::PackedAround(Topology topology, Rank late, std::int64_t buffer_bytes)
    : topology_(std::move(topology)),
      late_(late),
      buffer_bytes_(buffer_bytes),
      rest_(without_ranks(topology_, {late})) {}

LateTrees PackedAround::trees(int pieces, std::int64_t buffer_bytes) {
  std::vector<HopTree> down =
      ways_of(synthesize_forest(topology_, {CollectiveKind::broadcast, 0, pieces, buffer_bytes, late_, false})
                  .schedule);
  std::vector<HopTree> up;
  std::map<std::vector<RankPair>, std::uint32_t> shapes;
  std::vector<std::uint32_t> shape;
  std::map<Rank, int> count;  // of an owner's chunks so far, which take turns on its trees
  for (const HopTree& tree : down) {
    shape.push_back(shapes.try_emplace(tree.hops, static_cast<std::uint32_t>(shapes.size())).first->second);
    const Rank owner = owner_of(tree, late_);
    const std::vector<HopTree>& trees = trees_to(owner);
    const int number = count[owner]++, round = number / static_cast<int>(trees.size());
    up.push_back(trees[static_cast<std::size_t>(number) % trees.size()]);
    for (std::int32_t& date : up.back().dates) date += round;
  }
  LateTrees found = around_ways(topology_, late_, std::move(down), std::move(up), shape);
  found.rules = {trees::TurnRule::date};
  return found;
}

const std::vector<HopTree>& PackedAround::trees_to(Rank owner) {
  const auto [found, is_new] = trees_to_.try_emplace(owner);
  if (is_new) {
    const Rank root = without_late(owner, late_);
    found->second = numbered_with(
        ways_of(
            synthesize_forest(rest_, {CollectiveKind::reduce, 0, 1, buffer_bytes_, root, false}).schedule),
        late_);
  }
  return found->second;
}

LateTrees matched_around(const Topology& topology, Rank late, int chunks, std::int64_t buffer_bytes,
                         Picoseconds* broadcast) {
  const int ranks = topology.rank_count();
  Options options;
  options.buffer_bytes = buffer_bytes;
  options.trials = 1;
  const Synthesis there =
      synthesize(topology, Collective::make(CollectiveKind::broadcast, ranks, chunks, late), options);
  *broadcast = there.duration;
  std::vector<HopTree> down = ways_of(there.schedule);
  std::vector<Rank> owner;
  for (const HopTree& tree : down) owner.push_back(without_late(owner_of(tree, late), late));
  const Synthesis up = synthesize(
      without_ranks(topology, {late}),
      Collective::with_owners(CollectiveKind::reduce_scatter, ranks - 1, std::move(owner)), options);
  std::vector<std::uint32_t> each(down.size());
  std::iota(each.begin(), each.end(), 0);
  LateTrees found =
      around_ways(topology, late, std::move(down), numbered_with(ways_of(up.schedule), late), each);
  // A matcher's steps are in the order of its own times. Where latencies are long, the longest way is several times as fast.
  found.rules = {trees::TurnRule::date, trees::TurnRule::way};
  return found;
}

LateTrees stars_around(int rank_count, Rank late, int pieces) {
  LateTrees found;
  for (Rank owner : indices<Rank>(rank_count)) {
    if (owner == late) continue;
    for (int piece = 0; piece < pieces; ++piece) {
      HopTree wait, finish{.adding = 1};
      finish.add({late, owner}, piece);
      for (Rank rank : indices<Rank>(rank_count)) {
        if (rank == owner) continue;
        if (rank != late) wait.add({rank, owner}, piece);
        finish.add({owner, rank}, piece + 1);
      }
      wait.adding = static_cast<std::uint32_t>(wait.hops.size());
      found.wait.push_back(std::move(wait));
      found.finish.push_back(std::move(finish));
      found.owner.push_back(owner);
    }
  }
  return found;
}

}  // namespace hemiola::synthesis
