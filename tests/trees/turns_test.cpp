// SPDX-License-Identifier: Apache-2.0
// The list schedule of trees: times worked out by hand, and each rule where it decides.
#include "hemiola/trees/turns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "hemiola/base/random.hpp"
#include "hemiola/trees/calendar.hpp"

namespace hemiola::trees {
namespace {

/// A line of ranks; channel 2i leads from rank i to i + 1, channel 2i + 1 back. A chunk takes a link 10, and is there after
/// 12.
Network line(int ranks) {
  Network network;
  for (int i = 0; i + 1 < ranks; ++i)
    for (const Channel channel : {Channel{Rank{i}, Rank{i + 1}}, Channel{Rank{i + 1}, Rank{i}}})
      network.add(channel, {network.link_count++, 10, 12});
  return network;
}

/// The chunks that a channel carries, in order.
std::vector<std::uint32_t> chunks_over(const Turned& turned, std::uint32_t channel) {
  std::vector<std::uint32_t> chunks;
  for (const Send& send : turned.sends)
    if (send.channel == channel) chunks.push_back(send.chunk);
  return chunks;
}

constexpr TurnRule kRules[] = {TurnRule::way, TurnRule::turn, TurnRule::due};

TEST(TreeTurns, GoUpALineAndDownAgainInFourHops) {
  // Given: three ranks in a line, one chunk, rank 1 is the root. Derivation: both leaves send at 0, the sum is there at 12,
  // and comes back at 24.
  const Trees trees{{{.channels = {0, 3, 1, 2}, .adding = 2}}, {0}};
  for (const TurnRule rule : kRules) {
    const Turned turned = take_turns(line(3), trees, {.rule = rule});
    EXPECT_EQ(turned.end, 24);
    ASSERT_EQ(turned.sends.size(), 4u);
    for (const Send& send : turned.sends) {
      EXPECT_EQ(send.reduce, send.channel == 0 || send.channel == 3);
      EXPECT_EQ(send.step, send.reduce ? 0 : 1);
    }
  }
}

TEST(TreeTurns, PipelineChunksBehindEachOther) {
  // Three chunks down two hops: the last leaves at 20, and needs two delays.
  const Turned turned = take_turns(line(3), {{{.channels = {0, 2}}}, {0, 0, 0}}, {.rule = TurnRule::turn});
  EXPECT_EQ(turned.end, 20 + 12 + 12);
  EXPECT_EQ(chunks_over(turned, 2), (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST(TreeTurns, TakeTheLongestWayOrTheFirstChunks) {
  // Given: chunk 0 goes one hop, chunks 1 and 2 go two, all over channel 0; 0 and 1 are first of their trees.
  const Trees trees{{{.channels = {0}}, {.channels = {0, 2}}}, {0, 1, 1}};
  const Turned by_way = take_turns(line(3), trees, {.rule = TurnRule::way});
  EXPECT_EQ(chunks_over(by_way, 0).back(), 0u);
  EXPECT_EQ(by_way.end, 10 + 12 + 12);
  const Turned by_turn = take_turns(line(3), trees, {.rule = TurnRule::turn});
  EXPECT_EQ(chunks_over(by_turn, 0), (std::vector<std::uint32_t>{1, 0, 2}));
}

TEST(TreeTurns, TakeWhatIsDueFirstUnlessItsWayIsShort) {
  // Derivation: 60 chunks of one hop keep channel 0 busy for 600; chunk 60 is due last, at 600, less 3/2 of its way, 24,
  // and chunk k at 10k less 18: the last chunk goes before those from 58.2 on.
  Trees trees{{{.channels = {0}}, {.channels = {0, 2}}}, std::vector<std::uint32_t>(60, 0)};
  trees.tree_of.push_back(1);
  const std::vector<std::uint32_t> order =
      chunks_over(take_turns(line(3), trees, {.rule = TurnRule::due}), 0);
  EXPECT_EQ(order[58], 58u);
  EXPECT_EQ(order[59], 60u);
  EXPECT_EQ(order[60], 59u);
}

TEST(TreeTurns, FollowDates) {
  const Trees trees{{{.channels = {0, 2}, .dates = {5, 6}}, {.channels = {0}, .dates = {4}}}, {0, 1, 1, 1}};
  const Turned turned = take_turns(line(3), trees, {.rule = TurnRule::date});
  // Chunks 1, 2 and 3 are due at 4, 5 and 6; of those due at 5 chunk 0 has the longer way.
  EXPECT_EQ(chunks_over(turned, 0), (std::vector<std::uint32_t>{1, 0, 2, 3}));
}

TEST(TreeTurns, ChunksOfHalfTheSizeTakeHalfTheTimeButAllTheLatency) {
  EXPECT_EQ(take_turns(line(2), {{{.channels = {0}, .size = 0.5}}, {0}}, {}).end, 7);
}

TEST(TreeTurns, WhatComesBackWaitsForAllThatItsRankHasSent) {
  // Given: a triangle. Rank 0 sends its part to 1, and over a link of 100 to 2; the sum comes back from 1.
  Network network;
  network.add({Rank{0}, Rank{1}}, {0, 10, 12});
  network.add({Rank{0}, Rank{2}}, {1, 100, 102});
  network.add({Rank{1}, Rank{0}}, {2, 10, 12});
  Tree tree{.channels = {0, 1, 2}, .adding = 2};
  EXPECT_EQ(take_turns(network, {{tree}, {0}}, {}).end, 102);
  tree.returns = true;
  const Turned turned = take_turns(network, {{tree}, {0}}, {});
  EXPECT_EQ(turned.end, 102 + 12);
  EXPECT_EQ(turned.sends.back().channel, 2u);
  EXPECT_EQ(turned.sends.back().step, 1);
}

TEST(TreeTurns, WaysThroughSwitchesShareLinksAndStartWhenAllAreFreeInTime) {
  // Given: ranks 0 and 1 send to 2 through one switch, whose link to 2 is number 2. Derivation: the second chunk gets to
  // the switch as the link is free again: it leaves 10 later, and there are two hops of 12.
  Network network;
  network.link_count = 3;
  network.channels = {{Rank{0}, Rank{2}}, {Rank{1}, Rank{2}}};
  network.hops = {{0, 10, 12}, {2, 10, 12}, {1, 10, 12}, {2, 10, 12}};
  network.hop_offset = {0, 2, 4};
  const Trees trees{{{.channels = {0}}, {.channels = {1}}}, {0, 1}};
  for (const TurnRule rule : kRules) {
    const Turned turned = take_turns(network, trees, {.rule = rule});
    EXPECT_EQ(turned.end, 10 + 12 + 12);
    EXPECT_EQ(turned.sends[0].step, 0);
    EXPECT_EQ(turned.sends[1].step, 1);
  }
}

TEST(TreeTurns, OfOneLinkShareNoStepAndFollowWhatTheyWaitFor) {
  // Random trees on a line: up to a random root and down again, of chunks of several sizes.
  Random random(7);
  for (int round = 0; round < 30; ++round) {
    const int ranks = 2 + static_cast<int>(random.below(6));
    Trees trees;
    for (int t = 0; t < 3; ++t) {
      const int root = static_cast<int>(random.below(static_cast<std::uint32_t>(ranks)));
      Tree tree{.size = 0.25 * (1 + static_cast<double>(random.below(4)))};
      for (int v = 0; v < root; ++v) tree.channels.push_back(static_cast<std::uint32_t>(2 * v));
      for (int v = ranks - 1; v > root; --v) tree.channels.push_back(static_cast<std::uint32_t>(2 * v - 1));
      tree.adding = static_cast<std::uint32_t>(ranks - 1);
      for (std::size_t i = tree.adding; i-- > 0;) tree.channels.push_back(tree.channels[i] ^ 1);
      trees.trees.push_back(tree);
    }
    for (int chunk = 0; chunk < 12; ++chunk) trees.tree_of.push_back(random.below(3));
    const Network network = line(ranks);
    for (const TurnRule rule : kRules) {
      const Turned turned = take_turns(network, trees, {.rule = rule});
      EXPECT_EQ(turned.sends.size(), trees.tree_of.size() * 2 * static_cast<std::size_t>(ranks - 1));
      std::map<std::uint32_t, std::int32_t> last;                   // by channel
      std::map<std::pair<std::uint32_t, int>, std::int32_t> there;  // by chunk and rank
      for (const Send& send : turned.sends) {
        const Channel channel = network.channels[send.channel];
        // Entries begin at 0: steps are counted from 1 here.
        const std::int32_t step = send.step + 1;
        EXPECT_GT(step, last[send.channel]);
        last[send.channel] = step;
        EXPECT_GT(step, (there[{send.chunk, channel.src}]));
        std::int32_t& at = there[{send.chunk, channel.dst}];
        at = std::max(at, step);
      }
    }
  }
}

TEST(TreeTurns, EndWhenTheirCallerSaysSo) {
  const Trees trees{{{.channels = {0}}}, std::vector<std::uint32_t>(10'000, 0)};
  std::int64_t told = 0;
  const Turned turned = take_turns(line(2), trees, {.advance = [&](std::int64_t sends) {
                                     told += sends;
                                     return false;
                                   }});
  EXPECT_FALSE(turned.complete);
  EXPECT_LT(turned.sends.size(), 5'000u);
  EXPECT_EQ(told, static_cast<std::int64_t>(turned.sends.size()));
}

TEST(Calendar, GivesEventsInOrderWhileOthersAreAdded) {
  struct Event {
    Picoseconds time;
  };
  Random random(3);
  for (const Picoseconds ahead : {1, 70, 100'000}) {
    Calendar<Event> calendar(ahead, 3 * ahead);
    std::vector<Picoseconds> added, taken;
    Picoseconds now = 0;
    const auto add = [&] {
      added.push_back(now +
                      static_cast<Picoseconds>(random.below(static_cast<std::uint32_t>(3 * ahead + 1))));
      calendar.add({added.back()});
    };
    for (int i = 0; i < 50; ++i) add();
    while (!calendar.empty()) {
      now = calendar.first_time();
      do taken.push_back(calendar.take().time);
      while (calendar.has_another(now));
      if (added.size() < 2'000) {
        add();
        add();
      }
    }
    std::sort(added.begin(), added.end());
    EXPECT_EQ(taken, added);
  }
}

}  // namespace
}  // namespace hemiola::trees
