// SPDX-License-Identifier: Apache-2.0
// The index arithmetic of the logarithmic algorithms, on cases worked out by hand.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "hemiola/algorithms/index/binary.hpp"
#include "hemiola/algorithms/index/rank_grid.hpp"
#include "hemiola/algorithms/published/binomial.hpp"
#include "hemiola/algorithms/published/double_binary_tree.hpp"
#include "hemiola/algorithms/published/recursive.hpp"

namespace hemiola::algorithms {
namespace {

TEST(Binary, DoublingRoundsIsTheLogarithmRoundedUp) {
  const std::vector<std::pair<int, int>> expected{{1, 0}, {2, 1}, {3, 2}, {4, 2},
                                                  {5, 3}, {8, 3}, {9, 4}, {1024, 10}};
  for (const auto& [n, rounds] : expected) EXPECT_EQ(doubling_rounds(n), rounds) << n;
}

TEST(Binary, NumbersWithBitCountsWhatALoopCounts) {
  for (int n = 1; n <= 70; ++n) {
    std::int64_t all = 0;
    for (int bit = 0; bit < 7; ++bit) {
      std::int64_t counted = 0;
      for (int i = 0; i < n; ++i) counted += i >> bit & 1;
      EXPECT_EQ(numbers_with_bit(bit, n), counted) << "bit " << bit << " below " << n;
      all += counted;
    }
    EXPECT_EQ(bits_set_below(n), all);
  }
}

TEST(PowerOfTwoCore, SixRanksFoldTwoOfThem) {
  const PowerOfTwoCore core(6);
  EXPECT_EQ(core.size, 4);
  EXPECT_EQ(core.rounds, 2);
  EXPECT_EQ(core.folded_count, 2);
  const std::vector<int> ranks{1, 3, 4, 5};
  for (int member = 0; member < 4; ++member)
    EXPECT_EQ(core.rank_of(member), ranks[static_cast<std::size_t>(member)]);
  // Members 0 and 1 stand for two chunks each, the others for one.
  const std::vector<int> below{0, 2, 4, 5, 6};
  for (int member = 0; member <= 4; ++member)
    EXPECT_EQ(core.chunks_below(member), below[static_cast<std::size_t>(member)]);
}

TEST(PowerOfTwoCore, PowersOfTwoFoldNobody) {
  for (int n : {1, 2, 4, 64}) {
    const PowerOfTwoCore core(n);
    EXPECT_EQ(core.size, n);
    EXPECT_EQ(core.folded_count, 0);
    EXPECT_EQ(core.rank_of(n - 1), n - 1);
  }
}

TEST(PowerOfTwoCore, PartnersAndBlocksFollowTheBits) {
  EXPECT_EQ(PowerOfTwoCore::partner(5, 0), 4);
  EXPECT_EQ(PowerOfTwoCore::partner(5, 1), 7);
  EXPECT_EQ(PowerOfTwoCore::partner(5, 2), 1);
  EXPECT_EQ(PowerOfTwoCore::block_begin(5, 0), 5);
  EXPECT_EQ(PowerOfTwoCore::block_begin(5, 1), 4);
  EXPECT_EQ(PowerOfTwoCore::block_begin(5, 2), 4);
  EXPECT_EQ(PowerOfTwoCore::block_begin(5, 3), 0);
}

TEST(BinomialTree, SixRanksFromRankTwo) {
  const BinomialTree tree{6, Rank{2}};
  EXPECT_EQ(tree.rounds(), 3);
  EXPECT_EQ(tree.distance(0), 4);
  EXPECT_EQ(tree.distance(2), 1);
  EXPECT_TRUE(tree.sends(0, 0));
  EXPECT_FALSE(tree.sends(4, 1)) << "position 6 does not exist";
  EXPECT_TRUE(tree.sends(4, 2));
  EXPECT_FALSE(tree.sends(1, 2)) << "position 1 has nothing yet";
  EXPECT_EQ(tree.subtree_end(4, 0), 6);
  EXPECT_EQ(tree.subtree_end(2, 1), 4);
  EXPECT_EQ(tree.subtree_end(5, 2), 6);
  EXPECT_EQ(tree.rank_at(0), 2);
  EXPECT_EQ(tree.rank_at(5), 1);
}

TEST(DoubleTree, PlacesOfSixNodesFormTheDrawnTree) {
  const std::vector<int> parent{2, 4, 2, 0, 6, 4};
  for (int place = 1; place <= 6; ++place)
    EXPECT_EQ(DoubleTree::place_parent(place, 6), parent[static_cast<std::size_t>(place - 1)]) << place;
}

TEST(DoubleTree, PlacesAndNodesAreInverse) {
  for (int count = 1; count <= 40; ++count)
    for (int tree : {0, 1})
      for (int node = 1; node <= count; ++node)
        EXPECT_EQ(DoubleTree::node_at(tree, DoubleTree::place_of(tree, node, count), count), node);
}

TEST(RankGrid, RankThirteenOfThreeByFourByTwo) {
  const RankGrid grid({3, 4, 2});  // 13 = 1 + 3 * (0 + 4 * 1)
  EXPECT_EQ(grid.rank_count(), 24);
  const std::vector<int> coordinates{1, 0, 1};
  for (int d = 0; d < 3; ++d)
    EXPECT_EQ(grid.coordinate(Rank{13}, d), coordinates[static_cast<std::size_t>(d)]);
  EXPECT_EQ(grid.moved(Rank{13}, 0, 2), 14);
  EXPECT_EQ(grid.moved(Rank{13}, 0, 3), 12) << "coordinates wrap";
  EXPECT_EQ(grid.moved(Rank{13}, 1, -1), 22);
  EXPECT_EQ(grid.moved(Rank{13}, 2, 0), 1);
}

TEST(RankGrid, SpannedRanksVaryInTheGivenDimensionsOnly) {
  const RankGrid grid({3, 4, 2});
  EXPECT_EQ(grid.spanned({}), (std::vector<Rank>{Rank{0}}));
  EXPECT_EQ(grid.spanned({2, 0}),
            (std::vector<Rank>{Rank{0}, Rank{1}, Rank{2}, Rank{12}, Rank{13}, Rank{14}}));
}

// What [sanders2009] promises.
TEST(DoubleTree, NobodyForwardsInBothTreesAndTurnsNeverCollide) {
  for (int n = 2; n <= 130; ++n) {
    const DoubleTree trees(n);
    std::set<std::pair<int, int>> sender_turns;
    std::vector<std::set<int>> forwards_in(static_cast<std::size_t>(n));
    for (int tree : {0, 1})
      for (int node = 1; node < n; ++node) {
        const int parent = trees.parent(tree, node);
        EXPECT_TRUE(sender_turns.insert({parent, trees.turn(tree, node)}).second)
            << n << " ranks: node " << parent << " sends twice in one turn";
        forwards_in[static_cast<std::size_t>(parent)].insert(tree);
        EXPECT_LT(trees.depth(tree, node), trees.levels());
        const int parent_depth = parent == 0 ? -1 : trees.depth(tree, parent);
        EXPECT_EQ(parent_depth + 1, trees.depth(tree, node));
      }
    for (int node = 1; node < n; ++node) {
      EXPECT_NE(trees.turn(0, node), trees.turn(1, node));
      EXPECT_LE(forwards_in[static_cast<std::size_t>(node)].size(), 1u) << n << " ranks, node " << node;
    }
  }
}

}  // namespace
}  // namespace hemiola::algorithms
