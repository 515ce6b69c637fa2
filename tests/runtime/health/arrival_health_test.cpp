// SPDX-License-Identifier: Apache-2.0
// What a meter makes of bytes as they come, and what is judged of that: slow ports, and none where there is only noise.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "hemiola/runtime/adaptation/port_watch.hpp"
#include "hemiola/runtime/health/arrival_meter.hpp"
#include "said.hpp"

namespace hemiola {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::size_t kMessage = 256 << 10;

/// Rank 0 of three, whose ports carry 0.025 bytes a nanosecond; bytes come to it at chosen times.
struct Arrivals {
  ArrivalMeter meter{Rank{0},
                     {.port = {Rank{0}, Rank{1}, Rank{2}}, .healthy = std::vector<double>(3, 0.025)},
                     PortAccounts::own_memory(3)};
  std::int64_t now_ns = 0;

  void come(int peer, std::size_t bytes, bool is_amid, bool is_all = true) {
    meter.came({.from = Rank{peer},
                .stream = static_cast<std::size_t>(peer),
                .bytes = bytes,
                .is_amid = is_amid,
                .is_all = is_all},
               now_ns);
  }
  /// Of so many bytes per nanosecond, read every millisecond; then a pause.
  void message(int peer, double speed, std::int64_t pause_ns) {
    const auto piece = static_cast<std::size_t>(speed * kMs);
    now_ns += kMs;
    come(peer, piece, true);
    for (std::size_t left = kMessage - piece; left > 0;) {
      now_ns += kMs;
      const std::size_t next = std::min(left, piece);
      left -= next;
      come(peer, next, left > 0);
    }
    now_ns += pause_ns;
  }
  void messages(int count, int peer, double speed, std::int64_t pause_ns) {
    for (int i = 0; i < count; ++i) message(peer, speed, pause_ns);
  }
  float in() const { return meter.shares()[0]; }
  float out_of(int rank) const { return meter.shares()[static_cast<std::size_t>(3 + rank)]; }
};

TEST(ArrivalMeter, ASlowPortShowsItsFactor) {
  Arrivals a;
  a.messages(40, 1, 0.0125, 0);
  EXPECT_NEAR(a.in(), 0.5, 0.02);
  EXPECT_NEAR(a.out_of(1), 0.5, 0.02);
  EXPECT_EQ(a.out_of(2), 0);
}

// Given whole messages at full speed, and as long a pause behind each: the next rank's of a slow one in a ring.
TEST(ArrivalMeter, WaitingBetweenMessagesMakesNobodySlow) {
  Arrivals a;
  a.messages(40, 1, 0.025, 11 * kMs);
  EXPECT_GT(a.in(), 0.95);
  EXPECT_GT(a.out_of(1), 0.95);
}

// Given messages of two peers by turns, each at half the port's speed. Expect the port to be as fast as both together.
TEST(ArrivalMeter, PeersThatShareThePortDoNotMakeItLookSlow) {
  Arrivals a;
  for (int i = 0; i < 400; ++i) {
    a.now_ns += kMs;
    for (int peer : {1, 2}) a.come(peer, 12'500, true);
  }
  EXPECT_GT(a.in(), 0.95);
  EXPECT_NEAR(a.out_of(1), 0.5, 0.02);
  EXPECT_NEAR(a.out_of(2), 0.5, 0.02);
}

// Given a rank that comes 300 ms late to every message, which then lie in its buffers, and reads them in no time.
TEST(ArrivalMeter, WhatALateRankFindsInItsBuffersIsNoSpeed) {
  Arrivals a;
  for (int i = 0; i < 40; ++i) {
    a.now_ns += 300 * kMs;
    for (std::size_t read = 0; read < kMessage; read += 64 << 10)
      a.come(1, 64 << 10, read + (64 << 10) < kMessage, false);
  }
  EXPECT_EQ(a.out_of(1), 0);
}

// Given messages that a token bucket lets through in one go, for which this rank has waited: behind a slow one in a ring.
// Those of a slow port keep it busy, so only the first of many comes out of a pause.
TEST(ArrivalMeter, WhatComesAtOnceAfterWaitingForItIsFast) {
  Arrivals a;
  for (int i = 0; i < 40; ++i) {
    a.meter.waits();
    a.now_ns += 20 * kMs;
    a.come(1, kMessage, false);
  }
  EXPECT_FLOAT_EQ(a.out_of(1), 1);
  EXPECT_FLOAT_EQ(a.in(), 1);
  a.meter.clear();
  a.messages(1, 2, 0.0125, 0);
  for (int i = 0; i < 400; ++i) {
    a.meter.waits();
    a.now_ns += 10 * kMs;
    a.come(2, 125'000, true);
  }
  EXPECT_NEAR(a.out_of(2), 0.5, 0.02);
}

// Given messages that come whole, 64 KiB every 5 ms, half of what a port carries. Expect the port to be slow where its sender
// had each of them before the one before it had left, and else only that it is not known to be.
TEST(ArrivalMeter, ShortMessagesThatFollowEachOtherAreTimed) {
  Arrivals follow, pause;
  for (Arrivals* a : {&follow, &pause})
    for (int i = 0; i < 200; ++i) {
      a->now_ns += 5'243'000;
      a->meter.waits();
      a->meter.came(
          {.from = Rank{1}, .stream = 1, .bytes = 64 << 10, .follows = a == &follow, .is_all = true},
          a->now_ns);
    }
  EXPECT_NEAR(follow.out_of(1), 0.5, 0.02);
  EXPECT_FLOAT_EQ(pause.out_of(1), 1);
}

TEST(ArrivalMeter, LittleTrafficSaysNothing) {
  Arrivals a;
  a.messages(4, 1, 0.025, 0);
  EXPECT_FALSE(a.meter.has_measured());
  a.messages(40, 1, 0.025, 0);
  EXPECT_TRUE(a.meter.has_measured());
  a.meter.clear();
  EXPECT_FALSE(a.meter.has_measured());
  EXPECT_EQ(a.in(), 0);
}

// Given a slow port behind which a packet is lost: nothing for 400 ms, then all of it at once.
TEST(ArrivalMeter, WhatComesInOneGoBehindALostPacketIsNoSpeed) {
  Arrivals a;
  a.messages(100, 1, 0.0125, 0);
  a.come(1, 1000, true);
  a.now_ns += 400 * kMs;
  a.come(1, 5 << 20, true);
  a.messages(100, 1, 0.0125, 0);
  EXPECT_NEAR(a.out_of(1), 0.5, 0.02);
}

/// Ranks 0 and 1 behind one port, what comes from ranks 2 and 3 behind another, and from 4 with its own; ports carry 0.025
/// bytes a nanosecond.
struct SharedPort {
  static constexpr double kSpeed = 0.025;

  std::shared_ptr<std::byte> memory = PortAccounts::own_memory(5);
  std::vector<std::unique_ptr<ArrivalMeter>> meters;
  std::int64_t now_ns = 0;

  SharedPort() {
    for (int self : {0, 1})
      meters.push_back(
          std::make_unique<ArrivalMeter>(Rank{self},
                                         RankPorts{.port = {Rank{0}, Rank{0}, Rank{2}, Rank{2}, Rank{4}},
                                                   .healthy = std::vector<double>(5, kSpeed)},
                                         memory));
  }
  /// A message without an end from rank 2 to rank 0 and from 3 to 1, each at its speed, for so many milliseconds.
  void come(int count, double to_first, double to_second) {
    for (int i = 0; i < count; ++i) {
      now_ns += kMs;
      meters[0]->came({.from = Rank{2},
                       .stream = 2,
                       .bytes = static_cast<std::size_t>(to_first * kMs),
                       .is_amid = true,
                       .is_all = true},
                      now_ns);
      meters[1]->came({.from = Rank{3},
                       .stream = 3,
                       .bytes = static_cast<std::size_t>(to_second * kMs),
                       .is_amid = true,
                       .is_all = true},
                      now_ns);
    }
  }
  void next_operation() {
    for (const auto& meter : meters) meter->clear();
  }
  std::vector<float> shares(std::size_t self) const {
    const auto both = meters[self]->shares();
    return {both[0], both[2 + 5]};
  }
};

// Expect what both have together, whoever is asked, and nothing under the numbers of the ports' other ranks.
TEST(ArrivalMeter, RanksThatShareAPortAddUpWhatComesByIt) {
  SharedPort p;
  p.come(400, 0.7 * SharedPort::kSpeed, 0.28 * SharedPort::kSpeed);
  for (std::size_t self : {0, 1}) {
    EXPECT_TRUE(p.meters[self]->has_measured());
    for (float share : p.shares(self)) EXPECT_NEAR(share, 0.98, 0.02);
    const auto both = p.meters[self]->shares();
    for (std::size_t other : {1, 2, 3, 4, 5, 6, 8, 9}) EXPECT_EQ(both[other], 0) << other;
    EXPECT_NEAR(p.meters[self]->pairs()[3].from, 0.98, 0.02);
  }
}

TEST(ArrivalMeter, ASharedPortThatIsSlowShowsItsFactor) {
  SharedPort p;
  p.come(400, 0.3 * SharedPort::kSpeed, 0.2 * SharedPort::kSpeed);
  for (float share : p.shares(1)) EXPECT_NEAR(share, 0.5, 0.02);
}

// Given one of two ranks that has nothing to take in for half of the time: the other has all of the port.
TEST(ArrivalMeter, TimeCountsOnceWhoeverTakesIn) {
  SharedPort p;
  for (int i = 0; i < 10; ++i) {
    p.come(20, SharedPort::kSpeed / 2, SharedPort::kSpeed / 2);
    for (int ms = 0; ms < 20; ++ms) {
      p.now_ns += kMs;
      p.meters[0]->came({.from = Rank{2},
                         .stream = 2,
                         .bytes = static_cast<std::size_t>(SharedPort::kSpeed * kMs),
                         .is_amid = true,
                         .is_all = true},
                        p.now_ns);
    }
    p.meters[1]->came({.from = Rank{3}, .stream = 3, .bytes = 1, .is_amid = false, .is_all = true}, p.now_ns);
  }
  for (float share : p.shares(0)) EXPECT_NEAR(share, 1, 0.03);
}

// Given one rank that has begun the next operation while the other has not. Expect each to speak of its own.
TEST(ArrivalMeter, FiguresAreOfTheOperationOfWhoIsAsked) {
  SharedPort p;
  p.come(400, 0.6 * SharedPort::kSpeed, 0.4 * SharedPort::kSpeed);
  p.meters[0]->clear();
  EXPECT_EQ(p.shares(0)[1], 0);
  EXPECT_NEAR(p.shares(1)[1], 1, 0.02);
  p.next_operation();  // one is two ahead of the other
  p.come(400, 0.25 * SharedPort::kSpeed, 0.25 * SharedPort::kSpeed);
  EXPECT_NEAR(p.shares(0)[1], 0.5, 0.03);
  for (int i = 0; i < 7; ++i) p.meters[0]->clear();
  p.come(400, 0.25 * SharedPort::kSpeed, 0.25 * SharedPort::kSpeed);
  EXPECT_EQ(p.shares(1)[1], 0) << "its page is another operation's";
}

// Given a process that has died, or stands still, with the accounts.
TEST(ArrivalMeter, WhoHoldsTheAccountsKeepsNobodyWaiting) {
  SharedPort p;
  reinterpret_cast<std::atomic<std::uint32_t>*>(p.memory.get())->store(1);
  p.come(400, 0.5 * SharedPort::kSpeed, 0.5 * SharedPort::kSpeed);
  EXPECT_EQ(p.shares(0)[1], 0);
  reinterpret_cast<std::atomic<std::uint32_t>*>(p.memory.get())->store(0);
  p.come(400, 0.5 * SharedPort::kSpeed, 0.5 * SharedPort::kSpeed);
  EXPECT_NEAR(p.shares(0)[1], 1, 0.02);
}

using Factors = std::map<Rank, double>;

/// What ranks show each other, merged at once.
class Shown final : public Figures {
 public:
  using Pages = std::map<std::uint64_t, std::vector<float>>;
  explicit Shown(Pages* pages) : pages_(pages) {}
  void show(std::uint64_t number, std::span<const float> shares) override {
    std::vector<float>& page = (*pages_)[number];
    page.resize(shares.size());
    std::ranges::transform(page, shares, page.begin(), [](float a, float b) { return std::max(a, b); });
  }
  bool read(std::uint64_t number, std::span<double> best_share, const Check&) const override {
    std::ranges::copy(pages_->at(number), best_share.begin());
    return true;
  }

 private:
  Pages* pages_;
};

/// Four ranks, of which each says its own share of `ports`, and the next one the same of it, as long as nothing is planned for
/// slow ones, and 0.4 in what is: there ports rest.
struct Ranks {
  static constexpr std::size_t kCount = 4;
  Shown::Pages pages;
  Shown shown{&pages};
  std::vector<std::vector<float>> said =
      std::vector<std::vector<float>>(kCount, std::vector<float>(2 * kCount, 0.0F));
  std::vector<std::unique_ptr<PortWatch>> watches;
  std::uint64_t number = 0;

  Ranks() {
    for (const std::vector<float>& own : said)
      watches.push_back(std::make_unique<PortWatch>(&shown, std::make_unique<Said>(&own), Factors{}, 0,
                                                    PortWatch::ByArrivals{.least_bytes = 1000}));
  }
  Factors planned_for() const { return watches[0]->in_force().slow; }

  /// `out`: what has been seen to come from each; the same as `ports` where nothing is said.
  void operation(const std::vector<float>& ports, std::vector<float> out = {}) {
    if (out.empty()) out = ports;
    for (std::size_t rank = 0; rank < kCount; ++rank) {
      EXPECT_EQ(watches[rank]->in_force().slow, planned_for()) << "rank " << rank << " in " << number;
      EXPECT_EQ(watches[rank]->version(), watches[0]->version());
      const std::size_t before = (rank + kCount - 1) % kCount;
      said[rank][rank] = planned_for().empty() ? ports[rank] : 0.4F;
      said[rank][kCount + before] = planned_for().empty() ? out[before] : 0.4F;
    }
    for (const auto& watch : watches) watch->end_operation(number, 0);
    ++number;
  }
  /// How many of so many operations ran as if no port were slow.
  int plain_of(int operations, const std::vector<float>& ports) {
    int plain = 0;
    for (int i = 0; i < operations; ++i) {
      plain += int{planned_for().empty()};
      operation(ports);
    }
    return plain;
  }
};

TEST(PortWatchByArrivals, ASlowPortIsPlannedForAfterFiveOperationsAndTheOneThatTellsOfThem) {
  Ranks ranks;
  EXPECT_EQ(ranks.plain_of(50, {0.92F, 0.93F, 0.92F, 0.95F}), 50);
  EXPECT_EQ(ranks.plain_of(7, {1, 0.93F, 0.49F, 1}), 6);
  EXPECT_EQ(ranks.planned_for(), (Factors{{Rank{2}, 2.0}}));
}

// Derivation: trials 8, 16, 32 and then 64 operations after one another.
TEST(PortWatchByArrivals, TrialsBecomeRareAndWhatTheyShowKeepsTheFactor) {
  Ranks ranks;
  ranks.plain_of(6, {1, 1, 0.48F, 1});
  EXPECT_EQ(ranks.plain_of(8 + 16 + 32 + 3 * 64 + 20, {1, 1, 0.48F, 1}), 6);
  EXPECT_EQ(ranks.watches[0]->report().slow.size(), 1);
  EXPECT_EQ(ranks.watches[0]->report().changes.size(), 1) << "a trial is no change";
}

TEST(PortWatchByArrivals, ThreeTrialsOnEndClearARecoveredPort) {
  Ranks ranks;
  ranks.plain_of(6, {1, 1, 0.48F, 1});
  ranks.plain_of(PortWatch::kFirstPause + 10, {0.93F, 0.92F, 0.95F, 0.92F});
  EXPECT_TRUE(ranks.watches[0]->report().slow.empty());
  EXPECT_EQ(ranks.plain_of(20, {0.93F, 0.92F, 0.95F, 0.92F}), 20);
}

TEST(PortWatchByArrivals, OneTrialAloneClearsNothing) {
  Ranks ranks;
  ranks.plain_of(6, {1, 1, 0.48F, 1});
  for (int i = 0; i < 300; ++i)  // every second trial shows a port that is well
    ranks.operation({1, 1, ranks.number % 4 < 2 ? 0.48F : 0.97F, 1});
  EXPECT_EQ(ranks.watches[0]->report().slow.size(), 1);
}

// Given a port that shows less than the others, and every time something else: a busy core, not a NIC.
TEST(PortWatchByArrivals, APortThatShowsNowThisNowThatIsNotSlow) {
  Ranks ranks;
  for (int i = 0; i < 200; ++i) ranks.operation({1, 1, i % 3 == 0 ? 0.4F : 0.65F, 1});
  EXPECT_TRUE(ranks.watches[0]->report().slow.empty());
}

// Given a ring whose rank 1 is slow, so that rank 2 takes in no more than that, and sends at full speed, where anybody has seen
// it send.
TEST(PortWatchByArrivals, WhoWaitsForASlowPortIsNotSlowAndWhoWasNotSeenToSendNeither) {
  Ranks ranks;
  for (int i = 0; i < 100; ++i) ranks.operation({1, 0.5F, 0.5F, 1}, {1, 0.5F, i % 2 == 0 ? 1.0F : 0.0F, 1});
  const auto slow = ranks.watches[0]->report().slow;
  ASSERT_EQ(slow.size(), 1);
  EXPECT_EQ(slow[0].rank, Rank{1});
}

// Given four ranks on two ports, called 0 and 2, and two with their own.
TEST(PortWatchByArrivals, AllRanksBehindASlowPortAreSlow) {
  Shown::Pages pages;
  Shown shown{&pages};
  const std::vector<float> said = {1, 0, 0.49F, 0, 1, 1, 1, 0, 0.49F, 0, 1, 1};
  PortWatch watch(&shown, std::make_unique<Said>(&said), Factors{}, 0,
                  PortWatch::ByArrivals{.least_bytes = 1000,
                                        .port = {Rank{0}, Rank{0}, Rank{2}, Rank{2}, Rank{4}, Rank{5}}});
  for (std::uint64_t number = 0; number < 7; ++number) watch.end_operation(number, 0);
  const Factors both = {{Rank{2}, 2.0}, {Rank{3}, 2.0}};
  EXPECT_EQ(watch.in_force().slow, both);
  const PortWatch::Report report = watch.report();
  ASSERT_EQ(report.slow.size(), 2);
  EXPECT_EQ(report.slow[1].rank, Rank{3});
  ASSERT_EQ(report.changes.size(), 1);
  EXPECT_EQ(report.changes[0].slow, both);
}

TEST(PortWatchByArrivals, OneRankThatShowsMuchMakesTheOthersNotSlow) {
  Ranks ranks;
  EXPECT_EQ(ranks.plain_of(100, {1, 0.7F, 0.7F, 0.7F}), 100);
}

/// The judgement between hosts, of any number of ports.
struct Judged {
  PortHealth health;
  std::uint64_t number = 0;

  explicit Judged(int ports) : health(ports, {}, 0, PortWatch::kJudgingByArrivals) {}
  void operation(const std::vector<double>& shares) { health.judge(number++, 0, shares); }
  void operations(int count, const std::vector<double>& shares) {
    while (count-- > 0) operation(shares);
  }
  std::vector<int> slow() const {
    std::vector<int> ports;
    for (const auto& [port, factor] : health.factors_in_force()) ports.push_back(static_cast<int>(port));
    return ports;
  }
};

// Given the shares that four hosts of two ranks showed while NIC 2 had half its rate, in all-reduces in which host 0 exchanges two
// thirds of its data with host 2. Two hosts each take their part of what NIC 0 sends, so nobody sees it at full speed.
TEST(JudgingByArrivals, AHostThatMostlyWaitsForASlowOneIsNotSlow) {
  const std::vector<std::vector<double>> shown = {{0.516, 0.929, 0.451, 0.929}, {0.753, 0.793, 0.408, 0.793},
                                                  {0.679, 0.921, 0.406, 0.921}, {0.658, 0.928, 0.432, 0.928},
                                                  {0.684, 1.000, 0.411, 1.000}, {0.723, 0.811, 0.403, 0.811}};
  Judged judged(4);
  for (int i = 0; i < 40; ++i) {
    judged.operation(shown[static_cast<std::size_t>(i) % shown.size()]);
    EXPECT_EQ(judged.slow(), i < 4 ? std::vector<int>{} : std::vector<int>{2}) << "operation " << i;
  }
  judged.operations(20, {1, 1, 1, 1});
  EXPECT_TRUE(judged.slow().empty());
}

// Given jobs of 4 to 8 ports, one of them slow, and others that wait for it: in every operation each of these shows something
// between the slow port's share and the full one, but for the eighth of that range that is next to the slow port's.
TEST(JudgingByArrivals, WhoeverWaitsForASlowPortNobodyElseIsNamed) {
  int noticed = 0, jobs = 0;
  for (const double factor : {1.7, 2.0, 3.0, 8.0})
    for (unsigned seed = 0; seed < 200; ++seed, ++jobs) {
      std::mt19937 random(seed);
      std::uniform_real_distribution<double> between(0, 1);
      const std::size_t ports = 4 + seed % 5, slow = seed % ports;
      const std::size_t waiting = 1 + random() % (ports - 1);
      Judged judged(static_cast<int>(ports));
      const auto operation = [&](double full) {
        std::vector<double> shares(ports);
        for (std::size_t i = 0; i < ports; ++i) {
          const bool waits = (i + ports - slow) % ports <= waiting;
          const double part = i == slow ? 0 : waits ? 0.125 + 0.875 * between(random) : 1;
          shares[i] = (full + (1 - full) * part) * (1 - 0.03 * between(random));
        }
        judged.operation(shares);
      };
      for (int i = 0; i < 30; ++i) operation(1);
      bool names_others = false, names_slow = false;
      for (int i = 0; i < 60; ++i) {
        operation(1 / factor);
        const std::vector<int> named = judged.slow();
        names_slow = named == std::vector<int>{static_cast<int>(slow)};
        names_others |= !named.empty() && !names_slow;
      }
      EXPECT_FALSE(names_others) << "seed " << seed << ", " << factor << " times slower";
      noticed += int{names_slow};
      for (int i = 0; i < 20; ++i) operation(1);
      EXPECT_TRUE(judged.slow().empty()) << "seed " << seed;
    }
  EXPECT_GE(noticed, jobs * 9 / 10) << "of " << jobs;
}

TEST(JudgingByArrivals, PortsThatAreEquallySlowAreNamedTogether) {
  Judged judged(5);
  judged.operations(5, {1, 0.5, 1, 0.47, 1});
  EXPECT_EQ(judged.slow(), (std::vector<int>{1, 3}));
}

TEST(JudgingByArrivals, OfPortsThatAreUnequallySlowTheSlowestIsNamedAndTheOthersOnceItHasRecovered) {
  Judged judged(5);
  judged.operations(50, {1, 0.25, 1, 0.5, 1});
  EXPECT_EQ(judged.slow(), std::vector<int>{1});
  judged.operations(5, {1, 1, 1, 0.5, 1});
  EXPECT_EQ(judged.slow(), std::vector<int>{3});
}

// Given a port that is slow, and in its fourth operation one that is disturbed more.
TEST(JudgingByArrivals, APortThatIsDisturbedOnceDelaysTheSlowOneByThatOperation) {
  Judged judged(4);
  judged.operations(3, {1, 0.5, 1, 1});
  judged.operation({1, 0.5, 1, 0.2});
  judged.operation({1, 0.5, 1, 1});
  EXPECT_TRUE(judged.slow().empty());
  judged.operation({1, 0.5, 1, 1});
  EXPECT_EQ(judged.slow(), std::vector<int>{1});
}

TEST(PortWatchByArrivals, OnlyOperationsThatAreLargeAndLikeForAllAreLookedAt) {
  Ranks ranks;
  Signature signature{.kind = OperationKind::all_reduce, .dtype = DType::uint8};
  const auto looks_at = [&](OperationKind kind, std::int64_t bytes) {
    signature.kind = kind;
    signature.set_shape(std::vector<std::int64_t>{bytes});
    return ranks.watches[0]->looks_at(signature);
  };
  EXPECT_TRUE(looks_at(OperationKind::all_reduce, 1000));
  EXPECT_FALSE(looks_at(OperationKind::all_reduce, 999));
  EXPECT_FALSE(looks_at(OperationKind::broadcast, 1000));
}

}  // namespace
}  // namespace hemiola
