// SPDX-License-Identifier: Apache-2.0
// Trees around a late rank, read from a broadcast.
#include "hemiola/synthesis/late/late_trees.hpp"

#include <gtest/gtest.h>

namespace hemiola::synthesis {
namespace {

TEST(LateTrees, AMessageIsOverWhenTheNextOneOnItsLinkBegins) {
  // Given: chunks 0, 1, 2 over link 0→1 in steps 0, 3, 5, and over 1→2 in steps 1, 4, 6. Expect: each ends before the next one
  // on its link; the last one takes as long as the one before it.
  ScheduleBuilder builder(Collective::make(CollectiveKind::broadcast, 3, 3, Rank{0}));
  for (const auto& [chunk, step] : {std::pair{0, 0}, {1, 3}, {2, 5}}) {
    builder.copy(Step{step}, Rank{0}, Rank{1}, Chunk{chunk});
    builder.copy(Step{step + 1}, Rank{1}, Rank{2}, Chunk{chunk});
  }
  const std::vector<HopTree> ways = ways_of(builder.finish());
  ASSERT_EQ(ways.size(), 3u);
  EXPECT_EQ(ways[0].ends, (std::vector<std::int32_t>{2, 3}));
  EXPECT_EQ(ways[1].ends, (std::vector<std::int32_t>{4, 5}));
  EXPECT_EQ(ways[2].ends, (std::vector<std::int32_t>{6, 7}));
  EXPECT_EQ(ways[2].dates, (std::vector<std::int32_t>{5, 6}));
}

}  // namespace
}  // namespace hemiola::synthesis
