// SPDX-License-Identifier: Apache-2.0
// The order in which wide ports take turns, against all turns sorted at once.
#include "hemiola/synthesis/flood/turns.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "hemiola/base/random.hpp"

namespace hemiola::synthesis {
namespace {

TEST(Turns, ComeFasterOnesFirstThenByDistanceThenByChannel) {
  Turns turns(2, 100);
  turns.add(1, {3, 0, 0, 4});
  turns.add(0, {9, 1, 0, 70});
  turns.add(0, {8, 2, 0, 70});
  turns.add(0, {7, 3, 0, 99});
  for (const std::uint32_t channel : {8u, 9u, 7u, 3u}) {
    ASSERT_NE(turns.next(), nullptr);
    EXPECT_EQ(turns.next()->channel, channel);
    turns.take();
  }
  EXPECT_EQ(turns.next(), nullptr);
}

TEST(Turns, AreInOrderWhileLaterOnesAreAdded) {
  constexpr int kRanks = 70;
  Random random(1);
  Turns turns(3, kRanks);
  std::set<std::tuple<int, int, std::uint32_t>> expected;
  std::uint32_t channel = 0;
  const auto add = [&](int speed, int passed) {
    turns.add(speed, {channel, 0, 0, passed});
    expected.insert({speed, passed, channel++});
  };
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 40; ++i)
      add(static_cast<int>(random.below(3)), static_cast<int>(random.below(kRanks)));
    while (const Turn* turn = turns.next()) {
      const auto [speed, passed, first] = *expected.begin();
      ASSERT_EQ(turn->channel, first);
      ASSERT_EQ(turn->passed, passed);
      expected.erase(expected.begin());
      turns.take();
      if (passed + 1 < kRanks && random.below(3) != 0)
        add(speed,
            passed + 1 + static_cast<int>(random.below(static_cast<std::uint32_t>(kRanks - passed - 1))));
    }
    EXPECT_TRUE(expected.empty());
  }
}

}  // namespace
}  // namespace hemiola::synthesis
