// SPDX-License-Identifier: Apache-2.0
// How many spanning trees fit into small graphs, counted by hand and by trying every partition, and that the trees that
// are packed keep to it.
#include "hemiola/synthesis/forest/spanning_trees.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "hemiola/base/random.hpp"
#include "hemiola/bounds/strength.hpp"
#include "hemiola/synthesis/forest/rooted_tree.hpp"
#include "hemiola/synthesis/forest/shallow_trees.hpp"
#include "hemiola/synthesis/forest/tree_count.hpp"

namespace hemiola::synthesis {
namespace {

using bounds::Edge;
using bounds::Partition;

/// A grid of alike edges; rank r + 1 is the neighbour in the first dimension.
TwoWayLinks grid(const std::vector<int>& sides, double Bps = 1) {
  TwoWayLinks links;
  links.rank_count = 1;
  for (const int side : sides) links.rank_count *= side;
  for (int rank = 0; rank < links.rank_count; ++rank) {
    int stride = 1;
    for (const int side : sides) {
      if (rank / stride % side + 1 < side) links.ends.emplace_back(rank, rank + stride);
      stride *= side;
    }
  }
  links.bandwidth_Bps.assign(links.count(), Bps);
  return links;
}

TwoWayLinks complete(int ranks) {
  TwoWayLinks links;
  links.rank_count = ranks;
  for (int a = 0; a < ranks; ++a)
    for (int b = a + 1; b < ranks; ++b) links.ends.emplace_back(a, b);
  links.bandwidth_Bps.assign(links.count(), 1);
  return links;
}

TwoWayLinks ring(int ranks) {
  TwoWayLinks links = grid({ranks});
  links.ends.emplace_back(0, ranks - 1);
  links.bandwidth_Bps.push_back(1);
  return links;
}

/// Connected, with bandwidths of 1 … 9.
TwoWayLinks random_links(Random* random) {
  TwoWayLinks links;
  links.rank_count = 2 + static_cast<int>(random->below(5));
  for (int a = 0; a < links.rank_count; ++a)
    for (int b = a + 1; b < links.rank_count; ++b)
      if (b == a + 1 || random->below(2) == 0) {
        links.ends.emplace_back(a, b);
        links.bandwidth_Bps.push_back(1 + random->below(9));
      }
  return links;
}

void for_each_partition(int vertices, const std::function<void(const Partition&)>& see) {
  Partition partition;
  const std::function<void(int)> place = [&](int vertex) {
    if (vertex == vertices) return see(partition);
    for (int part = 0; part <= partition.part_count; ++part) {
      const int before = partition.part_count;
      partition.part_of.push_back(part);
      partition.part_count = std::max(before, part + 1);
      place(vertex + 1);
      partition.part_count = before;
      partition.part_of.pop_back();
    }
  };
  place(0);
}

double strength_by_trying(const TwoWayLinks& links) {
  const std::vector<Edge> edges = links.edges();
  double least = 1e9;
  for_each_partition(links.rank_count, [&](const Partition& partition) {
    if (partition.part_count > 1)
      least = std::min(least,
                       static_cast<double>(partition.capacity_between(edges)) / (partition.part_count - 1));
  });
  return least;
}

bool fit_by_trying(int vertices, const std::vector<Edge>& copies, int trees) {
  bool fit = true;
  for_each_partition(vertices, [&](const Partition& partition) {
    fit &= partition.capacity_between(copies) >= std::int64_t{trees} * (partition.part_count - 1);
  });
  return fit;
}

void expect_spanning_within(int vertices, const std::vector<Edge>& copies, const SpanningTrees& trees) {
  std::vector<std::int64_t> used(copies.size(), 0);
  for (const std::vector<int>& tree : trees) {
    EXPECT_EQ(static_cast<int>(tree.size()), vertices - 1);
    for (const int edge : tree) ++used[static_cast<std::size_t>(edge)];
    const RootedTree hung = hang(vertices, copies, tree, 0);
    EXPECT_TRUE(std::all_of(hung.part.begin(), hung.part.end(), [](int part) { return part == 0; }));
  }
  for (std::size_t e = 0; e < copies.size(); ++e) EXPECT_LE(used[e], copies[e].capacity) << "edge " << e;
}

int total_height(int vertices, const std::vector<Edge>& copies, const SpanningTrees& trees) {
  int sum = 0;
  for (const std::vector<int>& tree : trees) sum += hang_by_center(vertices, copies, tree).height();
  return sum;
}

/// Packs what choose_rate() finds; returns the rate.
TreeRate pack(const TwoWayLinks& links, int trees) {
  const TreeRate rate = choose_rate(links, trees, strength_Bps(links));
  const std::vector<Edge> copies = links.copies(rate.tree_Bps, rate.trees);
  SpanningTrees packed = pack_spanning_trees(links.rank_count, copies, rate.trees);
  EXPECT_EQ(static_cast<int>(packed.size()), rate.trees);
  expect_spanning_within(links.rank_count, copies, packed);
  const int before = total_height(links.rank_count, copies, packed);
  make_shallow(links.rank_count, copies, &packed);
  expect_spanning_within(links.rank_count, copies, packed);
  EXPECT_LE(total_height(links.rank_count, copies, packed), before);
  return rate;
}

TEST(Strength, IsTheEdgesPerVertexButOneWhereNoPartIsDenser) {
  EXPECT_DOUBLE_EQ(strength_Bps(grid({2})), 1);
  EXPECT_DOUBLE_EQ(strength_Bps(grid({3})), 1);                 // a path of 3: 2 edges / 2
  EXPECT_DOUBLE_EQ(strength_Bps(grid({3, 3})), 12.0 / 8);       // 12 edges
  EXPECT_DOUBLE_EQ(strength_Bps(grid({8, 8})), 112.0 / 63);     // 2 * 8 * 7 edges
  EXPECT_DOUBLE_EQ(strength_Bps(grid({4, 4, 4})), 144.0 / 63);  // 3 * 16 * 3 edges
  EXPECT_DOUBLE_EQ(strength_Bps(ring(5)), 5.0 / 4);
  EXPECT_DOUBLE_EQ(strength_Bps(complete(6)), 15.0 / 5);
}

TEST(Strength, IsThatOfTheThinLinksBetweenDenseParts) {
  // Given two triangles of 10 joined by one edge of 1. Derivation: the parts {0, 1, 2} and {3, 4, 5} have 1 between them.
  TwoWayLinks links;
  links.rank_count = 6;
  links.ends = {{0, 1}, {0, 2}, {1, 2}, {2, 3}, {3, 4}, {3, 5}, {4, 5}};
  links.bandwidth_Bps = {10, 10, 10, 1, 10, 10, 10};
  EXPECT_DOUBLE_EQ(strength_Bps(links), 1);
  const Partition weakest = bounds::weakest_partition(6, links.edges());
  EXPECT_EQ(weakest.part_of, (std::vector<int>{0, 0, 0, 1, 1, 1}));
}

TEST(Strength, IsWhatTryingEveryPartitionFinds) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const TwoWayLinks links = random_links(&random);
    EXPECT_DOUBLE_EQ(strength_Bps(links), strength_by_trying(links)) << "seed " << seed;
  }
}

TEST(SpanningTrees, CarryAllThatFitsWhereItIsAWholeFraction) {
  const std::vector<std::pair<TwoWayLinks, int>> cases{
      {grid({2}), 1}, {grid({3}), 1},        {grid({3, 3}), 3}, {grid({8, 8}), 16},
      {ring(5), 5},   {grid({4, 4, 4}), 16}, {complete(6), 3}};
  for (const auto& [links, trees] : cases) {
    const TreeRate rate = pack(links, 0);
    EXPECT_EQ(rate.trees, trees) << links.rank_count << " ranks";
    EXPECT_DOUBLE_EQ(rate.total_Bps(), strength_Bps(links)) << links.rank_count << " ranks";
  }
}

TEST(SpanningTrees, OnAThreeByThreeGridThreeUseEachEdgeTwice) {
  const TreeRate rate = pack(grid({3, 3}, 10), 3);
  EXPECT_DOUBLE_EQ(rate.tree_Bps, 5);
  EXPECT_DOUBLE_EQ(pack(grid({3, 3}, 10), 1).tree_Bps, 10);
  // Two trees have 16 edges, more than the 12 that there are.
  EXPECT_DOUBLE_EQ(pack(grid({3, 3}, 10), 2).tree_Bps, 5);
}

TEST(SpanningTrees, AreTheThickestThatFitOnRandomNetworks) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const TwoWayLinks links = random_links(&random);
    const int trees = 1 + static_cast<int>(random.below(7));
    const TreeRate rate = pack(links, trees);
    ASSERT_EQ(rate.trees, trees);
    EXPECT_LE(rate.total_Bps(), strength_Bps(links) * (1 + 1e-9));
    EXPECT_FALSE(fit_by_trying(links.rank_count, links.copies(rate.tree_Bps * 1.0001, trees), trees));
    const TreeRate free = pack(links, 0);
    EXPECT_GE(free.total_Bps(), 0.9 * strength_Bps(links));
  }
}

TEST(SpanningTrees, OfAGridAreHardlyDeeperThanItsMiddleIsFar) {
  // Given 8 x 8: from any rank in the middle the farthest corner is 8 away, and every edge is taken.
  const TwoWayLinks links = grid({8, 8});
  const TreeRate rate = choose_rate(links, 0, strength_Bps(links));
  const std::vector<Edge> copies = links.copies(rate.tree_Bps, rate.trees);
  SpanningTrees trees = pack_spanning_trees(links.rank_count, copies, rate.trees);
  make_shallow(links.rank_count, copies, &trees);
  for (const std::vector<int>& tree : trees)
    EXPECT_LE(hang_by_center(links.rank_count, copies, tree).height(), 12);
}

TEST(RootedTree, HangsAPathByItsMiddle) {
  const std::vector<Edge> path{{0, 1, 1}, {1, 2, 1}, {2, 3, 1}, {3, 4, 1}};
  const RootedTree hung = hang_by_center(5, path, {0, 1, 2, 3});
  EXPECT_EQ(hung.order[0], 2);
  EXPECT_EQ(hung.height(), 2);
  EXPECT_EQ(hung.parent, (std::vector<int>{1, 2, -1, 2, 3}));
  EXPECT_EQ(hung.edge, (std::vector<int>{0, 1, -1, 2, 3}));
}

}  // namespace
}  // namespace hemiola::synthesis
