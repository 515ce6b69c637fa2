// SPDX-License-Identifier: Apache-2.0
// Every learner and filter of the runtime: from whatever state noise has brought it to, figures of full speed lead back to the
// healthy one within a stated number of operations. Each test draws its noise from a seed, which a failure names.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "health/said.hpp"
#include "hemiola/base/move_cost.hpp"
#include "hemiola/base/yields.hpp"
#include "hemiola/runtime/adaptation/density_watch.hpp"
#include "hemiola/runtime/adaptation/late_habits.hpp"
#include "hemiola/runtime/adaptation/late_watch.hpp"
#include "hemiola/runtime/adaptation/port_watch.hpp"
#include "hemiola/runtime/executor/patience.hpp"
#include "hemiola/runtime/health/port_health.hpp"

namespace hemiola {
namespace {

using Factors = std::map<Rank, double>;

constexpr unsigned kSeeds = 400;
constexpr Judging kCertain{};
constexpr Judging kArrivals = PortWatch::kJudgingByArrivals;

class Noise {
 public:
  explicit Noise(unsigned seed) : generator_(seed) {}
  double between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(generator_);
  }
  int count(int low, int high) { return std::uniform_int_distribution<int>(low, high)(generator_); }
  bool chance(double share) { return between(0, 1) < share; }
  double spread(double deviation) { return std::normal_distribution<double>(0, deviation)(generator_); }

 private:
  std::mt19937 generator_;
};

/// Shares of phases: ports that are slow for a while, or lose figures, in a network that may be slow for all.
struct NoisyPorts {
  Noise noise;
  int ranks;
  std::vector<double> factor;
  double network = 1, deviation = 0;

  NoisyPorts(unsigned seed, int rank_count)
      : noise(seed), ranks(rank_count), factor(static_cast<std::size_t>(rank_count), 1.0) {}
  void next_phase() {
    for (double& one : factor) one = noise.chance(0.3) ? std::exp2(noise.between(0, 4)) : 1;
    network = noise.chance(0.2) ? noise.between(0.2, 1) : 1;
    deviation = noise.chance(0.3) ? noise.between(0, 0.3) : noise.between(0, 0.03);
  }
  std::vector<double> shares() {
    std::vector<double> found;
    for (double one : factor)
      found.push_back(
          noise.chance(0.02) ? 0 : std::clamp(network / one - std::abs(noise.spread(deviation)), 0.01, 1.0));
    return found;
  }
};

TEST(Recovery, APortAtFullSpeedIsHealthyWithinTheOperationsOfTheReferenceAndOfAFall) {
  for (const Judging& judging : {kCertain, kArrivals})
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      NoisyPorts ports(seed, 3 + static_cast<int>(seed % 6));
      Factors assumed;
      if (ports.noise.chance(0.5)) assumed[Rank{0}] = ports.noise.between(1.01, 5);
      PortHealth health(ports.ranks, assumed, 0, judging);
      std::uint64_t number = 0;
      for (int phase = ports.noise.count(0, 20); phase > 0; --phase) {
        ports.next_phase();
        for (int left = ports.noise.count(1, 100); left > 0; --left)
          health.judge(++number, 0, ports.shares());
      }
      const double full = ports.noise.between(0.3, 1);  // at which all are equally fast
      const std::vector<double> shares(static_cast<std::size_t>(ports.ranks), full);
      const std::size_t most = judging.operations_of_reference + judging.operations_to_fall;
      ASSERT_LT(most, 100u);
      for (std::size_t i = 0; i < most; ++i) health.judge(++number, 0, shares);
      EXPECT_EQ(health.factors_in_force(), Factors()) << "seed " << seed << ", all at " << full;
    }
}

// Derivation: shares end at 1, so where noise has once shown 0.88 or more nothing is 1.15 times as fast. A figure between may
// end a first fall, to a smaller factor.
TEST(Recovery, APortThatIsHardlySlowRecoversInTwoFalls) {
  for (const Judging& judging : {kCertain, kArrivals})
    for (const double share : {0.5, 0.7, 0.8, 0.82, 0.85, 0.87, 0.88, 0.89})
      for (const double once : {0.8, 0.88, 0.9, 0.92}) {
        PortHealth health(4, {}, 0, judging);
        std::uint64_t number = 0;
        const auto feed = [&](double slow, std::size_t times) {
          while (times-- > 0) health.judge(++number, 0, std::vector<double>{1, 1, slow, 1});
        };
        feed(share, 20);
        feed(once, 1);
        feed(1, 2 * judging.operations_to_fall);
        EXPECT_TRUE(health.slow_ports().empty()) << share << ", once " << once;
      }
}

// Given shares that vary by 1 to 8 %, and a port that was slow for 60 operations. Expect it healthy again in 1,000.
TEST(Recovery, NoiseKeepsNoPortSlow) {
  for (const Judging& judging : {kCertain, kArrivals})
    for (const double slow : {1.14, 1.25, 1.33, 2.0, 4.0})
      for (const double deviation : {0.01, 0.03, 0.05, 0.08})
        for (unsigned seed = 0; seed < kSeeds; ++seed) {
          NoisyPorts ports(seed, 4);
          ports.network = 0.95;
          ports.deviation = deviation;
          PortHealth health(4, {}, 0, judging);
          std::uint64_t number = 0;
          const auto pass = [&](double factor, int operations) {
            ports.factor[2] = factor;
            while (operations-- > 0) health.judge(++number, 0, ports.shares());
          };
          pass(1, 30);
          pass(slow, 60);
          ports.factor[2] = 1;
          bool recovers = false;
          for (int left = 1000; left > 0 && !recovers; --left) {
            pass(1, 1);
            recovers = !health.factors_in_force().contains(Rank{2});
          }
          EXPECT_TRUE(recovers) << slow << " times slower, deviation " << deviation << ", seed " << seed;
        }
}

/// Of one rank that knows all.
class Shown final : public Figures {
 public:
  void show(std::uint64_t, std::span<const float> shares) override {
    shares_.assign(shares.begin(), shares.end());
  }
  bool read(std::uint64_t, std::span<double> best_share, const Check&) const override {
    std::ranges::copy(shares_, best_share.begin());
    return true;
  }

 private:
  std::vector<float> shares_;
};

// Derivation: trials are at most kLongestPause operations apart, and those after one in doubt two. So the reference is renewed
// in operations_of_reference of these, and three more take the factor back.
TEST(Recovery, WhereOnlyTrialsTellAPortIsHealthyWithinSoManyTrials) {
  constexpr std::size_t kRanks = 4;
  const std::size_t most = (kArrivals.operations_of_reference + kArrivals.operations_to_fall) *
                           static_cast<std::size_t>(PortWatch::kLongestPause + 2);
  for (unsigned seed = 0; seed < kSeeds / 4; ++seed) {
    NoisyPorts ports(seed, kRanks);
    std::vector<float> said(2 * kRanks);
    Shown shown;
    PortWatch watch(&shown, std::make_unique<Said>(&said), {}, 0, PortWatch::ByArrivals{.least_bytes = 1});
    std::uint64_t number = 0;
    const auto operation = [&](const std::vector<double>& shares) {
      for (std::size_t i = 0; i < said.size(); ++i) said[i] = static_cast<float>(shares[i % kRanks]);
      watch.end_operation(number++, 0);
    };
    for (int phase = ports.noise.count(0, 20); phase > 0; --phase) {
      ports.next_phase();
      for (int left = ports.noise.count(1, 300); left > 0; --left) operation(ports.shares());
    }
    const std::vector<double> full(kRanks, ports.noise.between(0.3, 1));
    for (std::size_t i = 0; i < most; ++i) operation(full);
    EXPECT_TRUE(watch.report().slow.empty()) << "seed " << seed;
  }
}

// Expect nobody waited for who comes in time, once as many operations have shown it as are looked at.
TEST(Recovery, NobodyIsExpectedToBeLateWhoHasComeInTimeInAllThatAreLookedAt) {
  constexpr std::int64_t kBytes = 1000;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Noise noise(seed);
    LateHabits habits;
    LateWatch watch;
    const auto operation = [&](Rank last, double lag_s) {
      const double delay_s = 25.0 * habits.expected(kBytes).quarters;
      const LateOutlook outlook{.plain_s = 100, .delay_s = delay_s, .finish_s = noise.between(75, 101)};
      habits.note(kBytes, last, lag_s, outlook);
      watch.note(kBytes, lag_s > 0 ? noise.between(-1, 0.9) : -0.01);
    };
    for (int left = noise.count(0, 200); left > 0; --left)
      operation(Rank{noise.chance(0.9) ? 1 : 2}, std::exp2(noise.between(0, 12)));
    for (std::size_t i = 0; i < LateHabits::kOperations; ++i) operation(Rank{noise.count(0, 3)}, 0);
    EXPECT_FALSE(habits.expected(kBytes)) << "seed " << seed;
    EXPECT_FALSE(watch.pays(kBytes)) << "seed " << seed;
  }
}

TEST(Recovery, RanksLookAtTheirZerosAgainWithinAPause) {
  constexpr int kPause = 64;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Noise noise(seed);
    DensityWatch watch;
    const auto operation = [&](double density, bool is_hinted) {
      if (watch.is_due(0))
        watch.note_look(0, density, kPause, noise.chance(0.5));
      else
        watch.note(0, is_hinted);
    };
    for (int left = noise.count(0, 300); left > 0; --left) operation(noise.between(0, 1), noise.chance(0.3));
    for (int i = 0; i < kPause; ++i) operation(1, false);
    EXPECT_EQ(watch.density(0), 1) << "seed " << seed;
  }
}

TEST(Recovery, PollsAreTriedAgainWithin64Waits) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Noise noise(seed);
    PollRecord record;
    for (int left = noise.count(0, 1000); left > 0; --left) {
      if (!record.pays()) continue;
      if (noise.chance(0.2))
        record.met();
      else
        record.missed();
    }
    int waits = 0;
    while (!record.pays() && waits < 1000) ++waits;
    EXPECT_LE(waits, 63) << "seed " << seed;
    record.met();
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(record.pays()) << "seed " << seed;
  }
}

// Given yields of any length in any waits. Expect waits to yield again once they have gone without for kTimesWithout times as
// long as trying took, which the noise bounds; and to go on yielding after kProof of waits that no long yield has ended.
TEST(Recovery, WaitsYieldAgainAfterABoundedTime) {
  using std::chrono::milliseconds;
  constexpr int kLongest_ms = 50;
  // All that a row may take: its yields, and as long between them.
  constexpr int kRow_ms = 2 * Yields::kInARow * kLongest_ms;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Noise noise(seed);
    Yields yields;
    Yields::Clock::time_point now{milliseconds(1)};
    for (int left = noise.count(0, 300); left > 0; --left) {
      yields.suspect(noise.chance(0.1));
      if (yields.pay(now)) {
        const auto begin = now;
        now += milliseconds(noise.chance(0.8) ? noise.count(1, kLongest_ms) : 0);
        yields.note(begin, now);
      } else {
        now += milliseconds(noise.count(0, 20));
      }
      yields.end_wait(now);
    }
    yields.suspect(false);
    const auto wait_well = [&](int waits) {
      bool pays = true;
      for (int i = 0; i < waits; ++i) {
        pays = yields.pay(now);
        now += milliseconds(1);
        yields.end_wait(now);
      }
      return pays;
    };
    wait_well(Yields::kTimesWithout * kRow_ms + static_cast<int>(Yields::kProof.count()));
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(wait_well(1)) << "seed " << seed;
  }
}

// Given costs that any noise has left, even a clock that ran backwards once. Expect the cheapest way in most choices.
TEST(Recovery, TheCheapestWayIsChosenAgainWithin8192Choices) {
  constexpr std::array<std::uint64_t, 3> kTicks{3000, 1000, 2000};
  constexpr std::size_t kBytes = 4096, kCheapest = 1;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Noise noise(seed);
    std::array<MoveCost, 3> costs;
    WayChooser chooser;
    const auto choose = [&] {
      std::array<float, 3> known;
      std::ranges::transform(costs, known.begin(), &MoveCost::per_byte);
      return chooser.choose(known);
    };
    for (int left = noise.count(0, 1000); left > 0; --left)
      costs[choose()].note(noise.chance(0.01) ? ~std::uint64_t{0} : 1u << noise.count(0, 30), kBytes);
    for (int i = 0; i < 8192; ++i) {
      const std::size_t way = choose();
      costs[way].note(kTicks[way], kBytes);
    }
    int cheapest = 0;
    for (int i = 0; i < 256; ++i) {
      const std::size_t way = choose();
      cheapest += way == kCheapest;
      costs[way].note(kTicks[way], kBytes);
    }
    EXPECT_GE(cheapest, 250) << "seed " << seed;
  }
}

}  // namespace
}  // namespace hemiola
