// SPDX-License-Identifier: Apache-2.0
// Lists of ranks as messages carry them.
#include "hemiola/runtime/session/rank_runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace hemiola {
namespace {

constexpr int kLast = std::numeric_limits<int>::max();

std::vector<Rank> ranks(const std::vector<int>& numbers) {
  return {numbers.begin(), numbers.end()};
}

Bytes packed_runs(const std::vector<RankRun>& runs) {
  const auto bytes = std::as_bytes(std::span(runs));
  return {bytes.begin(), bytes.end()};
}

std::vector<int> counted(int first, int count) {
  std::vector<int> numbers(at(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

TEST(RankRuns, AnyListComesBackInItsOrder) {
  std::vector<int> shuffled = counted(0, 4096);
  std::ranges::shuffle(shuffled, std::mt19937_64(1));
  for (const std::vector<int>& numbers : std::vector<std::vector<int>>{
           {}, {0}, {7}, {0, 1, 2}, {2, 1, 0}, {0, 1, 5, 6, 2, 3}, {3, 3, 4}, {kLast - 1}, shuffled})
    EXPECT_EQ(unpacked_ranks(packed_ranks(ranks(numbers))), ranks(numbers))
        << ::testing::PrintToString(numbers);
}

TEST(RankRuns, SortedMembersCostEightBytesAGap) {
  for (const int count : {1, 512, 4096}) EXPECT_EQ(packed_ranks(ranks(counted(3, count))).size(), 8u);
  EXPECT_EQ(packed_ranks(std::set<Rank>{Rank{9}, Rank{0}, Rank{8}, Rank{1}}).size(), 16u);
}

TEST(RankRuns, NoListIsLongerThanItsReceiverAllows) {
  const auto numbers = counted(0, static_cast<int>(kMostListedRanks));
  EXPECT_EQ(unpacked_ranks(packed_ranks(ranks(numbers))).size(), kMostListedRanks);
  EXPECT_EQ(unpacked_ranks(packed_runs({{Rank{5}, 2}, {Rank{0}, 1}}), 3).size(), 3u);
  EXPECT_THROW(unpacked_ranks(packed_runs({{Rank{5}, 2}, {Rank{0}, 2}}), 3), FormatError);
}

TEST(RankRuns, IllFormedListsAreRefused) {
  constexpr auto kHuge = std::uint32_t{1} << 31;
  constexpr auto kMost = static_cast<std::uint32_t>(kMostListedRanks);
  for (const std::vector<RankRun>& runs :
       std::vector<std::vector<RankRun>>{{{Rank{0}, kHuge}},
                                         {{Rank{0}, kMost + 1}},
                                         {{Rank{0}, kMost}, {Rank{0}, 1}},
                                         {{Rank{0}, 0}},
                                         {{Rank{-1}, 1}},
                                         {{Rank{kLast}, 2}},
                                         {{Rank{0}, 1}, {Rank{1}, 1}}})  // one run in two
    EXPECT_THROW(unpacked_ranks(packed_runs(runs)), FormatError)
        << runs.back().first << " " << runs.back().count;
  const Bytes whole = packed_ranks(ranks({0, 1, 5}));
  ASSERT_EQ(whole.size(), 2 * sizeof(RankRun));
  for (std::size_t bytes = 1; bytes < sizeof(RankRun); ++bytes)
    for (const std::size_t cut : {bytes, sizeof(RankRun) + bytes})
      EXPECT_THROW(unpacked_ranks(std::span(whole).first(cut)), FormatError) << cut;
}

}  // namespace
}  // namespace hemiola
