// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/forest/reduce_trees.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/base/index.hpp"
#include "hemiola/base/longest.hpp"
#include "hemiola/base/progress.hpp"
#include "hemiola/synthesis/forest/rooted_tree.hpp"
#include "hemiola/synthesis/forest/shallow_trees.hpp"
#include "hemiola/synthesis/forest/spanning_trees.hpp"
#include "hemiola/synthesis/forest/tree_count.hpp"
#include "hemiola/synthesis/network/assemble.hpp"
#include "hemiola/synthesis/network/channels.hpp"
#include "hemiola/synthesis/network/listed.hpp"

namespace hemiola::synthesis {
namespace {

/// The better one counts: of 233 forests, meshes and grids each alone took up to 1.15 times as long.
constexpr std::array kRules{trees::TurnRule::turn, trees::TurnRule::due};

/// As many chunks for each tree as it asks for, and in all as many as if each rank had one tree: the first of every
/// tree, then the second of every tree, and so on.
Collective chunks_of(const std::vector<RootedTree>& trees, int rank_count, int pieces) {
  const int count = static_cast<int>(trees.size());
  const int per_tree = std::max(pieces, (rank_count * pieces + count - 1) / count);
  std::vector<Rank> owner;
  for (int piece = 0; piece < per_tree; ++piece)
    for (const RootedTree& tree : trees) owner.push_back(Rank{tree.order[0]});
  return Collective::with_owners(CollectiveKind::all_reduce, rank_count, std::move(owner));
}

/// From the leaves to the root and back.
std::vector<std::uint32_t> way_up_and_down(const Channels& channels, const RootedTree& tree) {
  std::vector<std::uint32_t> way;
  for (std::size_t i = tree.order.size(); --i > 0;)
    way.push_back(channels.between(Rank{tree.order[i]}, Rank{tree.parent[at(tree.order[i])]}));
  for (std::size_t i = 1; i < tree.order.size(); ++i)
    way.push_back(channels.between(Rank{tree.parent[at(tree.order[i])]}, Rank{tree.order[i]}));
  return way;
}

}  // namespace

ReduceTrees::ReduceTrees(const Topology& topology, const ForestOptions& options)
    : topology_(topology), options_(options), links_(two_way_links(topology)) {
  if (links_) {
    optimum_Bps_ = strength_Bps(*links_);
  } else {
    shared_ = lay_shared_trees(topology, Channels(topology, 0, LatencyModel::pipelined), options.trees);
    if (!shared_) return;
    optimum_Bps_ = shared_->most_Bps;
  }
  bound_ = at_most_longest(static_cast<double>(options.buffer_bytes) / optimum_Bps_ * 1e12);
}

std::vector<RootedTree> ReduceTrees::plant() const {
  if (links_) return plant_on_links();
  std::vector<RootedTree> hung;
  for (const auto& tree : shared_->trees)
    hung.push_back(hang_by_center(topology_.rank_count(), shared_->pairs, tree));
  return hung;
}

std::vector<RootedTree> ReduceTrees::plant_on_links() const {
  Parts parts(2);
  parts.next();
  const TreeRate rate = choose_rate(*links_, options_.trees, optimum_Bps_);
  HEMIOLA_CHECK(rate.trees > 0, "ranks that reach each other have a tree");
  const std::vector<bounds::Edge> copies = links_->copies(rate.tree_Bps, rate.trees);
  parts.next();
  SpanningTrees trees = pack_spanning_trees(links_->rank_count, copies, rate.trees);
  make_shallow(links_->rank_count, copies, &trees);
  std::vector<RootedTree> hung;
  for (const auto& tree : trees) hung.push_back(hang_by_center(links_->rank_count, copies, tree));
  return hung;
}

Synthesis ReduceTrees::operator()() const {
  const std::vector<RootedTree> trees = plant();
  const Collective collective = chunks_of(trees, topology_.rank_count(), options_.pieces);
  const Channels channels(topology_, chunk_bytes(collective, options_.buffer_bytes), LatencyModel::pipelined);
  trees::Trees ways;
  for (const RootedTree& tree : trees)
    ways.trees.push_back({.channels = way_up_and_down(channels, tree),
                          .adding = static_cast<std::uint32_t>(topology_.rank_count() - 1)});
  for (std::size_t chunk = 0; chunk < at(collective.chunk_count()); ++chunk)
    ways.tree_of.push_back(static_cast<std::uint32_t>(chunk % trees.size()));
  trees::Turned turned = best_listed(channels, ways, kRules);
  return {assemble(collective, channels, std::move(turned.sends)), turned.end, bound_, 1, false};
}

}  // namespace hemiola::synthesis
