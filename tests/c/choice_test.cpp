// SPDX-License-Identifier: Apache-2.0
// Which schedule libhemiola chooses, and that its words mean the same schedule to every rank.
#include "hemiola/c/choice.hpp"

#include <gtest/gtest.h>

#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/c/network.hpp"

namespace hemiola::c {
namespace {

constexpr PortFigures kInside{1e-6, 10e9, 0}, kBetween{30e-6, 1e9, 0};

Choice choice_on(const std::vector<int>& hosts, const PortFigures& inside = kInside) {
  return {network_of({inside, kBetween}, hosts), hosts};
}

Question question(CollectiveKind kind, std::int64_t bytes, int root = 0) {
  Question asked;
  asked.kind = kind;
  asked.byte_count = bytes;
  asked.root = Rank{root};
  return asked;
}

TEST(Choice, EveryCollectiveOfTheLibraryHasAScheduleOnAnyNumberOfRanks) {
  for (const auto kind :
       {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
        CollectiveKind::all_to_all, CollectiveKind::broadcast})
    for (const int ranks : {1, 2, 3, 4, 7, 8, 12})
      for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1024}, std::int64_t{16} << 20}) {
        const Choice choice = choice_on(std::vector<int>(static_cast<std::size_t>(ranks), 0));
        const Question asked = question(kind, bytes, kind == CollectiveKind::broadcast ? ranks - 1 : 0);
        const Schedule schedule = choice.follow(choice.decide(asked), asked);
        EXPECT_EQ(schedule.collective().kind(), kind);
        EXPECT_EQ(schedule.collective().rank_count(), ranks);
        EXPECT_EQ(schedule.collective().root(), asked.root);
      }
}

TEST(Choice, SmallBuffersTakeFewStepsAndLargeOnesFewBytes) {
  const Choice choice = choice_on(std::vector<int>(8, 0));
  // One latency of 1 us in all, where 64 bytes from each of seven take 45 ns.
  EXPECT_EQ(choice.decide(question(CollectiveKind::all_reduce, 64)), "all_reduce_recursive_multiplying");
  const Question large = question(CollectiveKind::all_reduce, std::int64_t{64} << 20);
  // Beyond 2(n-1)/n of the buffer, every rank would send more than the least.
  std::int64_t sent = 0;
  const Schedule schedule = choice.follow(choice.decide(large), large);
  for (std::int64_t t = 0; t < schedule.transfer_count(); ++t)
    sent += schedule.pair_of(static_cast<std::uint32_t>(t)).src == 0;
  EXPECT_NEAR(static_cast<double>(sent) / schedule.chunk_count(), 2.0 * 7 / 8, 0.01);
}

TEST(Choice, HostsOfSeveralRanksGetASchedulesThatKnowsThem) {
  const Choice choice = choice_on({0, 0, 1, 1, 2, 2});
  const std::string words = choice.decide(question(CollectiveKind::all_reduce, std::int64_t{16} << 20));
  EXPECT_NE(words.find("all_reduce_hierarchical slices "), std::string::npos) << words;
}

TEST(Choice, RanksThatAreNotNumberedHostByHostAreServedToo) {
  const Choice choice = choice_on({0, 1, 0, 1, 0});
  const Question asked = question(CollectiveKind::all_reduce, std::int64_t{16} << 20);
  EXPECT_EQ(choice.follow(choice.decide(asked), asked).collective().rank_count(), 5);
}

TEST(Choice, ManyRanksAreChosenForByFormulas) {
  const Choice choice = choice_on(std::vector<int>(600, 0));
  const Question asked = question(CollectiveKind::all_reduce, 1024);
  EXPECT_FALSE(choice.decide(asked).empty());
}

TEST(Choice, WordsThatNobodySaysAreRefused) {
  const Choice choice = choice_on({0, 0, 0, 0});
  const Question asked = question(CollectiveKind::all_reduce, 1024);
  for (const char* words : {"", "all_reduce_of_nobody", "all_gather_ring", "all_reduce_chain chunk_count -3",
                            "all_reduce_chain chunk_count 0", "all_reduce_hierarchical slices 99999999"})
    EXPECT_THROW(choice.follow(words, asked), ArgumentError) << words;
}

TEST(Choice, AnAlgorithmThatThereIsNotIsRefusedWithTheCollective) {
  const Choice choice = choice_on({0, 0});
  Question asked = question(CollectiveKind::all_reduce, 64);
  asked.algorithm = "all_reduce_of_nobody";
  try {
    choice.decide(asked);
    FAIL();
  } catch (const ArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("all_reduce on 2 ranks"), std::string::npos) << error.what();
  }
}

TEST(Figures, SurviveTheirWayToOtherRanksAndTheSlowerOnesCount) {
  const Figures own{kInside, kBetween};
  Figures joined = Figures::of(own.packed());
  joined.join({{2e-6, 5e9, 1e-6}, {}});
  EXPECT_EQ(joined.inside.latency_s, 2e-6);
  EXPECT_EQ(joined.inside.bandwidth_Bps, 5e9);
  EXPECT_EQ(joined.between.bandwidth_Bps, kBetween.bandwidth_Bps);
  EXPECT_THROW(Figures::of({}), FormatError);
  const Figures impossible{{-1, 1e9, 0}, {}};
  EXPECT_THROW(Figures::of(impossible.packed()), FormatError);
}

TEST(Figures, AreEnoughWhereEveryKindOfLinkWasMeasured) {
  EXPECT_TRUE(are_enough({}, {0}));
  EXPECT_FALSE(are_enough({}, {0, 0}));
  EXPECT_TRUE(are_enough({kInside, {}}, {0, 0}));
  EXPECT_FALSE(are_enough({kInside, {}}, {0, 1}));
}

}  // namespace
}  // namespace hemiola::c
