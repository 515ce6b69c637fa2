// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/executor/patience.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "hemiola/runtime/communicator/pending_operation.hpp"
#include "in_process/in_process_wire.hpp"

namespace hemiola {
namespace {

using hemiola::testing::InProcessWire;
using hemiola::testing::mailboxes_for;

class SleepCountingWire : public InProcessWire {
 public:
  SleepCountingWire() : InProcessWire(mailboxes_for(1), Rank{0}, {}) {}
  void wait(int timeout_us) override {
    ++sleeps;
    lengths_us.push_back(timeout_us);
  }
  int sleeps = 0;
  std::vector<int> lengths_us;
};

class Caller : public Supervisor {
 public:
  bool admits(Rank) override { return true; }
  void check() override {}
  bool is_awaited() const override { return waits; }
  bool waits = true;
};

constexpr Waiting kWaiting{.polls = 0, .spins = 100, .yields = 10, .sleep_us = 1};

class PatienceTest : public ::testing::Test {
 protected:
  /// How often so many rounds without news sleep.
  int sleeps_in(int rounds) {
    wire_.sleeps = 0;
    for (int i = 0; i < rounds; ++i) patience_.wait(&wire_, &caller_);
    return wire_.sleeps;
  }

  SleepCountingWire wire_;
  Caller caller_;
  WaitingRecord record_;
  Yields& yields_ = record_.yields;
  Patience patience_{kWaiting, &record_};
};

TEST_F(PatienceTest, SpinsAndYieldsBeforeItSleepsWhereSomebodyWaits) {
  EXPECT_EQ(sleeps_in(110), 0);
  EXPECT_EQ(sleeps_in(5), 5);
}

/// Yields that each let somebody work for 4 ms.
class LongYieldsTest : public PatienceTest {
 protected:
  static constexpr int kLength_ms = 4, kFirst_ms = kLength_ms * Yields::kTimesLonger;
  static constexpr int kAgain_ms = kLength_ms * Yields::kInARowAgain;

  Yields::Clock::time_point now() const { return begin_ + std::chrono::milliseconds(now_ms_); }
  void pass(int ms) { now_ms_ += ms; }
  void yield(int ms) {
    const auto begin = now();
    EXPECT_TRUE(yields_.pay(begin));
    pass(ms);
    yields_.note(begin, now());
  }
  /// Waits in a row, each ended by one.
  void wait(int count, int ms = kLength_ms) {
    for (int i = 0; i < count; ++i) {
      yield(ms);
      yields_.end_wait(now());
    }
  }
  /// For how many milliseconds of waiting there is none. Others may pass in between.
  int without_ms() {
    for (int ms = 0;; ++ms) {
      if (yields_.pay(now())) return ms;
      pass(1);
      yields_.end_wait(now());
      pass(100);
    }
  }

 private:
  const Yields::Clock::time_point begin_ = Yields::Clock::now();
  int now_ms_ = 0;
};

TEST_F(LongYieldsTest, MakeItSleepAfterSoManyInARow) {
  wait(Yields::kInARow - 1);
  pass(100);  // the next of these is long after the last one before
  wait(Yields::kInARow - 1);
  wait(3, 0);  // short ones do not end a row
  const Yields before = yields_;
  EXPECT_EQ(sleeps_in(110), 0);
  patience_.renew();
  yields_ = before;  // without what really passed meanwhile, on a machine that others keep busy
  wait(1);
  EXPECT_EQ(sleeps_in(110), 10);
}

/// Expect longer pauses after each row of two, until such a row costs one part in 64.
TEST_F(LongYieldsTest, AreTriedMoreRarelyAfterEachFurtherRow) {
  wait(Yields::kInARow);
  int expected_ms = kFirst_ms;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(without_ms(), expected_ms);
    wait(Yields::kInARowAgain);
    expected_ms = std::min(Yields::kGrowth * expected_ms, kAgain_ms * Yields::kTimesWithout);
  }
  EXPECT_EQ(without_ms(), kAgain_ms * Yields::kTimesWithout);
}

TEST_F(LongYieldsTest, AreForgottenWhereYieldsHavePaidSince) {
  wait(Yields::kInARow);
  EXPECT_EQ(without_ms(), kFirst_ms);
  for (int ms = 0; ms < Yields::kProof.count(); ++ms) {
    yield(0);
    pass(1);
    yields_.end_wait(now());
  }
  wait(Yields::kInARow - 1);
  EXPECT_EQ(without_ms(), 0);
  wait(1);
  EXPECT_EQ(without_ms(), kFirst_ms);
}

/// Given waits in each of which others work for several of them, as before a barrier.
TEST_F(LongYieldsTest, CountOnceAWait) {
  for (int i = 0; i < Yields::kInARow - 1; ++i) {
    for (int yields = 0; yields < 10; ++yields) yield(kLength_ms);
    yields_.end_wait(now());
  }
  EXPECT_EQ(without_ms(), 0);
}

/// Given waits without any after the one in which somebody worked.
TEST_F(LongYieldsTest, DoNotCountForLaterWaits) {
  wait(1);
  for (int i = 0; i < Yields::kInARow; ++i) {
    EXPECT_TRUE(yields_.pay(now()));
    yields_.end_wait(now());
  }
  EXPECT_EQ(without_ms(), 0);
}

/// Given a yield to somebody who works, after which what is waited for comes while the rank sleeps.
TEST_F(LongYieldsTest, DoNotCountWhereTheRankThenSleeps) {
  Patience sleeper({.polls = 0, .spins = 0, .yields = 0, .sleep_us = 1}, &record_);
  for (int i = 0; i < Yields::kInARow; ++i) {
    yield(kLength_ms);
    sleeper.wait(&wire_, &caller_);
    sleeper.renew();
  }
  EXPECT_EQ(without_ms(), 0);
}

/// Given ranks that share cores, and clocks that say what they have had of these.
class SharedCoresTest : public LongYieldsTest {
 protected:
  class Meter : public CoreUseMeter {
   public:
    explicit Meter(const SharedCoresTest& test) : test_(test) {}
    std::optional<CoreUse> read() const override {
      if (!is_readable) return {};
      return CoreUse{.at = test_.now(), .taken = taken, .cores = kCores, .processes = processes};
    }
    std::chrono::nanoseconds taken{};
    bool is_readable = true;
    int processes = 4;

   private:
    const SharedCoresTest& test_;
  };

  SharedCoresTest() { yields_.share(&meter_); }

  /// Waits that end with a long yield each, in which the ranks get so much of the cores.
  void wait_with(double share, int count) {
    for (int i = 0; i < count; ++i) {
      meter_.taken += std::chrono::microseconds(std::lround(share * 1000 * kCores * kLength_ms));
      wait(1);
    }
  }

  static constexpr int kCores = 2;
  Meter meter_{*this};
};

TEST_F(SharedCoresTest, LongYieldsToOtherRanksDoNotCount) {
  wait_with(1, 100);
  EXPECT_EQ(without_ms(), 0);
}

/// Strangers that never rest, one on each core, leave 4 ranks two thirds of two cores at most.
TEST_F(SharedCoresTest, LongYieldsToStrangersCount) {
  wait_with(2. / 3, Yields::kInARow);
  EXPECT_EQ(without_ms(), kFirst_ms);
}

/// Given ranks that sleep, and go on working.
TEST_F(SharedCoresTest, APauseEndsWhenStrangersHaveGone) {
  wait_with(0.5, Yields::kInARow);
  EXPECT_EQ(without_ms(), kFirst_ms);
  wait_with(0.5, Yields::kInARowAgain);
  EXPECT_FALSE(yields_.pay(now()));
  meter_.taken += kCores * CoreUseMeter::kShortest;
  pass(CoreUseMeter::kShortest.count());
  yields_.end_wait(now());
  EXPECT_EQ(without_ms(), 0);
  wait_with(0.5, Yields::kInARow - 1);
  EXPECT_EQ(without_ms(), 0) << "and is forgotten";
}

/// Clocks lag behind.
TEST_F(SharedCoresTest, NothingIsSaidOfRowsThatAreTooShort) {
  const auto wait_a_millisecond = [&] {
    meter_.taken += kCores * std::chrono::milliseconds(1) / 2;
    wait(1, 1);
  };
  for (int i = 0; i < CoreUseMeter::kShortest.count(); ++i) wait_a_millisecond();
  EXPECT_EQ(without_ms(), 0);
  wait_a_millisecond();
  EXPECT_GT(without_ms(), 0);
}

TEST_F(SharedCoresTest, WhereClocksCannotBeReadLongYieldsCount) {
  meter_.is_readable = false;
  wait_with(1, Yields::kInARow);
  EXPECT_EQ(without_ms(), kFirst_ms);
}

TEST_F(SharedCoresTest, ClocksOfOtherRanksSayNothing) {
  wait_with(1, 1);
  meter_.processes = 8;
  wait_with(1, Yields::kInARow - 1);
  EXPECT_EQ(without_ms(), kFirst_ms);
}

/// Given waits for 64 MiB that each ended with a yield of 40 ms.
class WaitingRecordsTest : public ::testing::Test {
 protected:
  WaitingRecordsTest() { wait(64 << 20, Yields::kInARow); }

  void wait(std::size_t bytes, int count) {
    Yields& yields = records_.of(bytes).yields;
    for (int i = 0; i < count; ++i) {
      EXPECT_TRUE(yields.pay(now_));
      yields.note(now_, now_ + std::chrono::milliseconds(40));
      yields.end_wait(now_ += std::chrono::milliseconds(40));
    }
  }
  bool yields_pay(std::size_t bytes) { return records_.of(bytes).yields.pay(now_); }

  WaitingRecords records_;
  Yields::Clock::time_point now_ = Yields::Clock::now();
};

TEST_F(WaitingRecordsTest, LongWaitsForMegabytesAreNoReasonToSleepWhereAWordIsWaitedFor) {
  EXPECT_FALSE(yields_pay(64 << 20));
  EXPECT_FALSE(yields_pay(32 << 20)) << "which tells as much";
  EXPECT_TRUE(yields_pay(64 << 10));
  EXPECT_TRUE(yields_pay(0));
}

TEST_F(WaitingRecordsTest, AfterThemTheFirstLongYieldWhereLittleIsMovedIsBelieved) {
  wait(64 << 10, 1);
  EXPECT_FALSE(yields_pay(64 << 10));
  EXPECT_TRUE(yields_pay(0));
}

TEST_F(PatienceTest, SleepsAfterAFewPausesInTheBackgroundOfACallerThatWorks) {
  caller_.waits = false;
  EXPECT_EQ(sleeps_in(Patience::kFewSpins), 0);
  EXPECT_EQ(sleeps_in(5), 5);
}

TEST_F(PatienceTest, SpinsOnOnceTheCallerWaits) {
  caller_.waits = false;
  EXPECT_EQ(sleeps_in(Patience::kFewSpins + 5), 5);
  caller_.waits = true;
  EXPECT_EQ(sleeps_in(110 - Patience::kFewSpins - 5), 0);
  EXPECT_EQ(sleeps_in(1), 1);
}

TEST_F(PatienceTest, SleepsOfAWaitDoubleUpToTheLongest) {
  Patience patience({.spins = 0, .yields = 0, .first_sleep_us = 10, .sleep_us = 60}, &record_);
  for (int wait = 0; wait < 2; ++wait) {
    for (int i = 0; i < 5; ++i) patience.wait(&wire_, &caller_);
    patience.renew();
  }
  EXPECT_EQ(wire_.lengths_us, (std::vector<int>{10, 20, 40, 60, 60, 10, 20, 40, 60, 60}));
}

TEST_F(PatienceTest, PollsOnlyWhereSomebodyWaits) {
  Patience patience({.polls = 50, .spins = 0, .yields = 0, .sleep_us = 1}, &record_, /*may_poll=*/true);
  caller_.waits = false;
  patience.wait(&wire_, &caller_);
  EXPECT_EQ(wire_.sleeps, 1);
  patience.renew();
  caller_.waits = true;
  for (int i = 0; i < 50; ++i) patience.wait(&wire_, &caller_);
  EXPECT_EQ(wire_.sleeps, 1);
}

TEST(PendingOperation, WhoeverWaitsForItIsCountedUntilItIsOver) {
  const auto callers = std::make_shared<Callers>();
  PendingOperation operation(PreparedCall{}, callers);
  EXPECT_FALSE(callers->any_waits());
  std::thread caller([&] { EXPECT_TRUE(operation.wait_for(60)); });
  while (!callers->any_waits()) std::this_thread::yield();
  EXPECT_TRUE(operation.finish(nullptr).empty());
  caller.join();
  EXPECT_FALSE(callers->any_waits());
}

}  // namespace
}  // namespace hemiola
