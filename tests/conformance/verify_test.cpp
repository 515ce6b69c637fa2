// SPDX-License-Identifier: Apache-2.0
// What only C++ can set: the judge's memory and threads; and the judge and its parts under the sanitizers.
#include "hemiola/verify/verify.hpp"

#include <gtest/gtest.h>

#include "hemiola/base/error.hpp"
#include "hemiola/schedule/chunk_sorter.hpp"
#include "hemiola/verify/sums.hpp"

namespace hemiola {
namespace {

/// A ring all-gather of `rank_count` ranks; without its step `without`, everything behind it is wrong.
Schedule ring(int rank_count, int without = -1) {
  ScheduleBuilder builder(Collective::make(CollectiveKind::all_gather, rank_count, rank_count));
  for (int t = 0; t < rank_count - 1; ++t)
    for (int r = 0; r < rank_count && t != without; ++r)
      builder.copy(Step{t}, Rank{r}, Rank{(r + 1) % rank_count}, Chunk{(r - t + rank_count) % rank_count});
  return builder.finish();
}

TEST(Verify, MemoryAndThreadsDoNotChangeTheAnswer) {
  const Schedule broken = ring(40, 7);
  VerifyOptions options;
  options.max_violations = 5000;
  options.threads = 1;
  const auto expected = verify(broken, options);
  EXPECT_GT(expected.size(), 40u * 30u);
  for (const std::int64_t memory_bytes : {1, 20000})
    for (const int threads : {1, 3}) {
      options.memory_bytes = memory_bytes;
      options.threads = threads;
      EXPECT_EQ(verify(broken, options), expected) << memory_bytes << " bytes, " << threads << " threads";
    }
}

/// Given 262,144 chunks that all of 262,144 ranks want and nobody is sent, and one that is read too early behind them.
/// Expect what comes first in the order (step, chunk, rank), without looking at 69 billion slots.
TEST(Verify, ChunksThatCannotAddToTheAnswerAreNotLookedAt) {
  constexpr int kMany = 1 << 18;
  ScheduleBuilder builder(Collective::make(CollectiveKind::broadcast, kMany, kMany));
  builder.copy(Step{0}, Rank{7}, Rank{8}, Chunk{kMany - 1});
  VerifyOptions options;
  options.max_violations = 3;
  const auto violations = verify(builder.finish(), options);
  ASSERT_EQ(violations.size(), 3u);
  EXPECT_EQ(violations[0].rule, Rule::read_before_defined);
  EXPECT_EQ(violations[0].chunk, kMany - 1);
  for (int i : {1, 2}) {
    EXPECT_EQ(violations[static_cast<std::size_t>(i)].rule, Rule::missing_chunk);
    EXPECT_EQ(violations[static_cast<std::size_t>(i)].rank, i);
    EXPECT_EQ(violations[static_cast<std::size_t>(i)].chunk, 0);
  }
}

TEST(Verify, AnExceptionInProgressEndsAllThreads) {
  VerifyOptions options;
  options.threads = 3;
  options.progress = [](std::int64_t, std::int64_t) { throw ArgumentError("enough"); };
  EXPECT_THROW(verify(ring(1100), options), ArgumentError);
}

TEST(ChunkSorter, RangesCoverAllChunksWithinTheirLimit) {
  const Schedule schedule = ring(10);  // 9 transfers a chunk
  const ScheduleSource source(schedule);
  for (const int chunks_at_once : {1, 3, 10, 100}) {
    const auto limit = static_cast<std::int64_t>(9 * sizeof(ChunkTransfer)) * chunks_at_once;
    const ChunkSorter sorter(source, limit);
    ChunkRange range;
    int next = 0;
    for (int r = 0; r < sorter.range_count(); ++r) {
      sorter.load(r, &range);
      EXPECT_EQ(range.first(), next);
      EXPECT_LE(range.count(), chunks_at_once + 1);
      for (int c = next; c < next + range.count(); ++c) {
        const auto transfers = range.transfers_of(Chunk{c});
        ASSERT_EQ(transfers.size(), 9u);
        for (int t = 0; t < 9; ++t) EXPECT_EQ(transfers[static_cast<std::size_t>(t)].src(), (c + t) % 10);
      }
      next += range.count();
    }
    EXPECT_EQ(next, 10);
  }
}

TEST(ChunkSorter, ChunksWithoutTransfersBelongToSomeRange) {
  ScheduleBuilder builder(Collective::make(CollectiveKind::broadcast, 2, 9));
  builder.copy(Step{0}, Rank{0}, Rank{1}, Chunk{4});
  const Schedule schedule = builder.finish();
  const ScheduleSource source(schedule);
  const ChunkSorter sorter(source, 1 << 20);
  ChunkRange range;
  sorter.load(0, &range);
  EXPECT_EQ(sorter.range_count(), 1);
  EXPECT_EQ(range.count(), 9);
  EXPECT_EQ(range.transfers_of(Chunk{4}).size(), 1u);
  EXPECT_TRUE(range.transfers_of(Chunk{8}).empty());
}

TEST(Sums, MoreThan64ResultsAreCountedInBatches) {
  // 100 ranks: result i adds rank 0 and rank i; each lacks 98 others.
  Sums sums(100);
  std::vector<Sums::Id> results;
  for (int i = 1; i <= 64; ++i) results.push_back(sums.add(sums.own(Rank{0}), sums.own(Rank{i}), i));
  const std::vector<Rank> contributors{Rank{0}, Rank{64}};
  EXPECT_EQ(sums.faulty(results, contributors), ~std::uint64_t{0} >> 1);  // only the last holds both
  const Sums::Flaw flaw = sums.flaw_of(0, contributors);
  EXPECT_EQ(flaw.missing, std::vector<Rank>{Rank{64}});
  EXPECT_TRUE(flaw.twice.empty());
}

TEST(Sums, ASumThatMeetsItselfNamesTheAddition) {
  Sums sums(3);
  const Sums::Id left = sums.add(0, 1, 10), right = sums.add(2, 1, 11), both = sums.add(left, right, 12);
  const std::vector<Rank> contributors{Rank{0}, Rank{1}, Rank{2}};
  const std::vector<Sums::Id> results{both};
  EXPECT_EQ(sums.faulty(results, contributors), 1u);
  const Sums::Flaw flaw = sums.flaw_of(0, contributors);
  EXPECT_TRUE(flaw.missing.empty());
  EXPECT_EQ(flaw.twice, std::vector<Rank>{Rank{1}});
  EXPECT_EQ(flaw.tag, 12);
}

}  // namespace
}  // namespace hemiola
