// SPDX-License-Identifier: Apache-2.0
// What a meter makes of messages, what a judge makes of figures, and that all ranks read the same ones.
#include "hemiola/runtime/health/port_health.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "hemiola/runtime/adaptation/port_watch.hpp"
#include "hemiola/runtime/control/local/local_figures.hpp"
#include "hemiola/runtime/health/port_meter.hpp"

namespace hemiola {
namespace {

constexpr bool kSending = true, kReceiving = false;

/// Rank 0 of three, 1 byte per nanosecond, latency 10 ns.
PortMeter meter() {
  return PortMeter(Rank{0}, std::vector<PairSpeed>(3, {10, 1}));
}

TEST(PortMeter, AMessageAloneShowsBothPortsAtItsRate) {
  PortMeter m = meter();
  const MeteredMessage message{0, Rank{1}, kSending, 500};
  m.posted(message, 1000);
  m.finished(message, 2000);
  EXPECT_FLOAT_EQ(m.shares()[0], 0.5);
  EXPECT_FLOAT_EQ(m.shares()[1], 0.5);
  EXPECT_FLOAT_EQ(m.shares()[2], 0);
}

TEST(PortMeter, LatencyIsTakenOffWhatIsReceived) {
  PortMeter m = meter();
  const MeteredMessage message{0, Rank{1}, kReceiving, 500};
  m.posted(message, 0);
  m.finished(message, 510);
  EXPECT_FLOAT_EQ(m.shares()[1], 1);
}

TEST(PortMeter, WhatAMessageTakesBesideItsBytesIsTakenOff) {
  PortMeter m(Rank{0}, std::vector<PairSpeed>(3, {10, 1, 40}));
  const MeteredMessage sent{0, Rank{1}, kSending, 500}, received{1, Rank{2}, kReceiving, 500},
      small{2, Rank{0}, kSending, 45};
  m.posted(small, 0);
  m.finished(small, 85);
  EXPECT_FALSE(m.has_measured());
  for (const MeteredMessage& message : {sent, received}) m.posted(message, 0);
  m.finished(sent, 540);
  m.finished(received, 550);
  EXPECT_FLOAT_EQ(m.shares()[1], 1);
  EXPECT_FLOAT_EQ(m.shares()[2], 1);
}

TEST(PortMeter, MessagesOfLessThanALatencySayNothing) {
  PortMeter m = meter();
  const MeteredMessage message{0, Rank{1}, kReceiving, 2};
  m.posted(message, 0);
  m.finished(message, 30);
  EXPECT_FALSE(m.has_measured());
}

// Given two messages of 100 bytes that share a port of 1 byte/ns from 0 to 200.
// Derivation: together 200 bytes in 200 ns, so our port is at its speed; each peer's has shown half of it.
TEST(PortMeter, MessagesThatShareAPortDoNotMakeItLookSlow) {
  PortMeter m = meter();
  const MeteredMessage first{0, Rank{1}, kSending, 100}, second{0, Rank{2}, kSending, 100};
  m.posted(first, 0);
  m.posted(second, 0);
  m.finished(first, 200);
  m.finished(second, 200);
  EXPECT_FLOAT_EQ(m.shares()[0], 1);
  EXPECT_FLOAT_EQ(m.shares()[1], 0.5);
  EXPECT_FLOAT_EQ(m.shares()[2], 0.5);
}

TEST(PortMeter, TwoMessagesWithOnePeerShowItsPortTogether) {
  PortMeter m = meter();
  const MeteredMessage message{0, Rank{1}, kSending, 100};
  m.posted(message, 0);
  m.posted(message, 0);
  m.finished(message, 200);
  m.finished(message, 200);
  EXPECT_FLOAT_EQ(m.shares()[1], 1);
}

// Given a message of 900 bytes from 0 to 1000, and one of 10 bytes from 900 to 1000.
// Derivation: of the first, a tenth falls into the second's time: (90 + 10) bytes in 100 ns are the port's speed, while
// counting all of it would make 910 bytes in 100 ns.
TEST(PortMeter, OfAMessagePostedBeforeThePartCountsThatFallsIntoTheTime) {
  PortMeter m(Rank{0}, std::vector<PairSpeed>(3, {0, 2}));
  const MeteredMessage first{0, Rank{1}, kSending, 900}, second{0, Rank{2}, kSending, 10};
  m.posted(first, 0);
  m.posted(second, 900);
  m.finished(first, 1000);
  m.finished(second, 1000);
  EXPECT_FLOAT_EQ(m.shares()[0], 0.5);
}

TEST(PortMeter, PortsAreToldApartAndTheBestCounts) {
  PortMeter m = meter();
  const MeteredMessage out{0, Rank{1}, kSending, 100}, in{1, Rank{1}, kReceiving, 190};
  m.posted(out, 0);
  m.posted(in, 0);
  m.finished(in, 200);
  m.finished(out, 1000);
  EXPECT_FLOAT_EQ(m.shares()[0], 1);  // 190 bytes in 200 - 10 ns
  m.clear();
  EXPECT_FALSE(m.has_measured());
  EXPECT_FLOAT_EQ(m.shares()[0], 0);
}

TEST(RoundUpFactor, GoesToTheNextStepAndForgivesAFewPercent) {
  EXPECT_EQ(round_up_factor(1.0), 1);
  EXPECT_EQ(round_up_factor(1.119), 1);
  EXPECT_EQ(round_up_factor(8.0 / 7), 1.25);
  EXPECT_EQ(round_up_factor(1.26), 1.25);
  EXPECT_EQ(round_up_factor(1.27), 1.5);
  EXPECT_EQ(round_up_factor(4.0 / 3), 1.5);
  EXPECT_EQ(round_up_factor(1.7), 2);
  EXPECT_EQ(round_up_factor(2.05), 2);
  EXPECT_EQ(round_up_factor(2.1), 3);
  EXPECT_EQ(round_up_factor(3.5), 4);
  EXPECT_EQ(round_up_factor(5), 6);
  EXPECT_EQ(round_up_factor(7), 8);
  EXPECT_EQ(round_up_factor(9), 12);
  EXPECT_EQ(round_up_factor(100), 128);
}

/// Judges operations one after the other.
struct Judge {
  explicit Judge(int rank_count, const std::map<Rank, double>& assumed = {})
      : health(rank_count, assumed, 7) {}
  /// How many of `operations` with these shares pass until the factors in force change; 0: they do not.
  int until_change(int operations, const std::vector<double>& shares) {
    for (int i = 1; i <= operations; ++i)
      if (health.judge(number++, 0, shares)) return i;
    return 0;
  }
  PortHealth health;
  std::uint64_t number = 0;
};

using Factors = std::map<Rank, double>;

TEST(PortHealth, ASlowPortIsPlannedForAfterFiveOperationsAndForgottenAfterFive) {
  Judge judge(4);
  EXPECT_EQ(judge.until_change(100, {1, 1, 1, 1}), 0);
  EXPECT_EQ(judge.until_change(100, {1, 1, 0.5, 1}), 5);
  EXPECT_EQ(judge.health.factors_in_force(), (Factors{{Rank{2}, 2.0}}));
  ASSERT_EQ(judge.health.slow_ports().size(), 1);
  EXPECT_EQ(judge.health.slow_ports()[0].since_number, 100);
  EXPECT_EQ(judge.until_change(100, {1, 1, 0.5, 1}), 0);
  EXPECT_EQ(judge.until_change(100, {1, 1, 1, 1}), 5);
  EXPECT_TRUE(judge.health.slow_ports().empty());
}

TEST(PortHealth, FourOperationsOnEndAreNoSlowPort) {
  Judge judge(4);
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(judge.until_change(4, {1, 1, 0.1, 1}), 0);
    EXPECT_EQ(judge.until_change(1, {1, 1, 1, 1}), 0);
  }
}

TEST(PortHealth, ALittleIsBelievedAfterEight) {
  Judge judge(8);
  EXPECT_EQ(judge.until_change(20, {1, 1, 1, 7.0 / 8, 1, 1, 1, 1}), 8);
  EXPECT_EQ(judge.health.factors_in_force(), (Factors{{Rank{3}, 1.25}}));
}

TEST(PortHealth, TwoPortsMayBeSlowByDifferentFactors) {
  Judge judge(8);
  EXPECT_EQ(judge.until_change(10, {1, 0.5, 1, 1, 1, 0.75, 1, 1}), 5);
  EXPECT_EQ(judge.health.factors_in_force(), (Factors{{Rank{1}, 2.0}, {Rank{5}, 1.5}}));
}

TEST(PortHealth, ANetworkThatIsSlowForAllIsSlowForNobody) {
  Judge judge(4);
  EXPECT_EQ(judge.until_change(100, {0.3, 0.3, 0.3, 0.3}), 0);
  EXPECT_EQ(judge.until_change(100, {1, 1, 1, 1}), 0);
  EXPECT_EQ(judge.until_change(100, {0.3, 0.3, 0.3, 0.3}), 0);
}

TEST(PortHealth, OfTwoRanksNobodyIsCalledSlow) {
  Judge judge(2);
  EXPECT_EQ(judge.until_change(100, {1, 0.5}), 0);
}

TEST(PortHealth, AnOperationThatSaysNothingAboutAPortChangesNothingAboutIt) {
  Judge judge(4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(judge.until_change(1, {1, 1, 0.5, 1}), 0);
    EXPECT_EQ(judge.until_change(3, {1, 1, 0, 1}), 0);
  }
  EXPECT_EQ(judge.until_change(1, {1, 1, 0.5, 1}), 1);
}

TEST(PortHealth, TheFactorComesFromTheFullOperationsNotFromTheFirst) {
  Judge judge(4);
  EXPECT_EQ(judge.until_change(1, {1, 1, 0.8, 1}), 0);  // it happened in the middle of this one
  EXPECT_EQ(judge.until_change(10, {1, 1, 0.25, 1}), 4);
  EXPECT_EQ(judge.health.factors_in_force(), (Factors{{Rank{2}, 4.0}}));
}

TEST(PortHealth, WhatIsKnownFromTheStartStaysUntilItIsOver) {
  Judge judge(4, {{Rank{1}, 1.7}});
  EXPECT_EQ(judge.until_change(100, {1, 1 / 1.7, 1, 1}), 0);
  EXPECT_EQ(judge.health.factors_in_force(), (Factors{{Rank{1}, 1.7}}));
  EXPECT_EQ(judge.until_change(100, {1, 1, 1, 1}), 5);
  EXPECT_TRUE(judge.health.factors_in_force().empty());
}

// In the exchange that is planned for a slow rank the others may wait for each other: with factor 1.7 among 5 ranks
// no port is seen above 0.853 of its rate, and 0.853 * 1.7 = 1.45 would be two steps less.
TEST(PortHealth, AFactorStaysWhereTheOthersLookSlowerAndFallsWhereThePortIsFaster) {
  Judge judge(4, {{Rank{1}, 1.7}});
  EXPECT_EQ(judge.until_change(100, {0.853, 1 / 1.7, 0.853, 0.853}), 0);
  EXPECT_EQ(judge.until_change(100, {0.853, 0.8, 0.853, 0.853}), 5);
  EXPECT_TRUE(judge.health.factors_in_force().empty());
}

// In a direct all-reduce of 6 ranks, two of them with half the speed, the others are held up by these and reach 0.8.
TEST(PortHealth, HowSlowAPortIsTellsWhatTheOthersUsedToReach) {
  Judge judge(6);
  EXPECT_EQ(judge.until_change(5, {1, 1, 1, 1, 1, 1}), 0);
  EXPECT_EQ(judge.until_change(100, {0.51, 0.8, 0.51, 0.8, 0.8, 0.8}), 5);
  EXPECT_EQ(judge.health.factors_in_force(), (Factors{{Rank{0}, 2.0}, {Rank{2}, 2.0}}));
  EXPECT_EQ(judge.until_change(1000, {0.51, 0.8, 0.51, 0.8, 0.8, 0.8}), 0);
}

TEST(PortHealth, AFactorFallsInANetworkThatIsSlowerThanDeclared) {
  Judge judge(4, {{Rank{1}, 1.7}});
  EXPECT_EQ(judge.until_change(100, {0.5, 0.5 / 1.7, 0.5, 0.5}), 0);
  EXPECT_EQ(judge.until_change(100, {0.5, 0.5, 0.5, 0.5}), 5);
  EXPECT_TRUE(judge.health.factors_in_force().empty());
}

TEST(PortHealth, AFactorFallsStepByStep) {
  Judge judge(4);
  EXPECT_EQ(judge.until_change(10, {1, 1, 0.25, 1}), 5);
  EXPECT_EQ(judge.until_change(10, {1, 1, 0.5, 1}), 5);
  EXPECT_EQ(judge.health.factors_in_force(), (Factors{{Rank{2}, 2.0}}));
  EXPECT_EQ(judge.until_change(10, {1, 1, 0.8, 1}), 5);
  EXPECT_EQ(judge.health.factors_in_force(), (Factors{{Rank{2}, 1.25}}));
  EXPECT_EQ(judge.until_change(10, {1, 1, 1, 1}), 5);
  EXPECT_TRUE(judge.health.factors_in_force().empty());
}

TEST(PortHealth, WhatIsAssumedCountsFromWhenItWasAssumed) {
  const PortHealth health(4, {{Rank{1}, 2.0}}, 7);
  ASSERT_EQ(health.slow_ports().size(), 1u);
  EXPECT_EQ(health.slow_ports()[0].since_number, 0u);
  EXPECT_EQ(health.slow_ports()[0].since_ns, 7);
}

TEST(PortHealth, AWorseFactorRisesAgainAndKeepsItsBeginning) {
  Judge judge(4);
  judge.until_change(10, {1, 1, 0.5, 1});
  EXPECT_EQ(judge.until_change(10, {1, 1, 0.25, 1}), 5);
  EXPECT_EQ(judge.health.factors_in_force(), (Factors{{Rank{2}, 4.0}}));
  EXPECT_EQ(judge.health.slow_ports()[0].since_number, 0);
}

TEST(PortHealth, WhatRanksHaveMeasuredOnPurposeHoldsAtOnceAndOthersStayAsTheyAre) {
  Judge judge(4);
  judge.until_change(10, {1, 1, 0.5, 1});
  EXPECT_TRUE(judge.health.adopt({{Rank{1}, 10.0}}, 10, 7));
  EXPECT_EQ(judge.health.factors_in_force(), (Factors{{Rank{1}, 12.0}, {Rank{2}, 2.0}}));
  EXPECT_EQ(judge.health.slow_ports()[0].since_number, 10);
  EXPECT_FALSE(judge.health.adopt({{Rank{1}, 10.0}, {Rank{3}, 1.0}}, 11, 7));
  EXPECT_TRUE(judge.health.adopt({{Rank{2}, 1.0}}, 12, 7));
  EXPECT_EQ(judge.until_change(100, {1, 0.1, 1, 1}), 0);
  EXPECT_EQ(judge.until_change(100, {1, 1, 1, 1}), 5);
  EXPECT_TRUE(judge.health.factors_in_force().empty());
}

// Given two ranks' watches with different figures of their own, one of which says that rank 2's port has half its
// speed, the other nothing. Expect the same judgement at the same operation on both, one operation after the
// figures.
TEST(PortWatch, RanksWithDifferentFiguresComeToTheSameConditionsAtTheSameOperation) {
  constexpr int kRanks = 3;
  std::vector<std::byte> memory(LocalFigures::region_bytes(kRanks) + 64);
  std::deque<LocalFigures> figures;
  std::vector<PortMeter*> meters;
  const auto take = [](std::vector<PortMeter*>& made, Rank rank) {
    auto meter = std::make_unique<PortMeter>(rank, std::vector<PairSpeed>(kRanks, {0, 1}));
    made.push_back(meter.get());
    return meter;
  };
  std::vector<std::unique_ptr<PortWatch>> watches;
  for (Rank rank : indices<Rank>(kRanks))
    watches.push_back(std::make_unique<PortWatch>(&figures.emplace_back(std::span(memory), rank, kRanks),
                                                  take(meters, rank), Factors{}, 0));
  const auto exchange = [&](Rank self, Rank peer, std::int64_t bytes) {
    const MeteredMessage message{0, peer, kSending, bytes};
    meters[static_cast<std::size_t>(self)]->posted(message, 0);
    meters[static_cast<std::size_t>(self)]->finished(message, 100);
  };
  for (std::uint64_t number = 0; number < 6; ++number) {
    for (const auto& watch : watches) EXPECT_EQ(watch->version(), 0) << "before operation " << number;
    exchange(Rank{0}, Rank{1}, 100);
    exchange(Rank{1}, Rank{2}, 50);
    for (const auto& watch : watches) watch->end_operation(number, 7);
  }
  for (const auto& watch : watches) {
    EXPECT_EQ(watch->version(), 1);
    EXPECT_EQ(watch->in_force().slow, (Factors{{Rank{2}, 2.0}}));
    const PortWatch::Report report = watch->report();
    ASSERT_EQ(report.changes.size(), 1);
    EXPECT_EQ(report.changes[0].number, 6);
    EXPECT_EQ(report.slow[0].since_number, 0);
  }
}

}  // namespace
}  // namespace hemiola
