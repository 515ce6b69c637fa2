#include "hemiola/runtime/executor/patience.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "hemiola/runtime/communicator/pending_operation.hpp"
#include "in_process/in_process_wire.hpp"

namespace hemiola {
namespace {

using hemiola::testing::InProcessWire;
using hemiola::testing::mailboxes_for;

class SleepCountingWire : public InProcessWire {
 public:
  SleepCountingWire() : InProcessWire(mailboxes_for(1), Rank{0}, {}) {}
  void wait(int) override { ++sleeps; }
  int sleeps = 0;
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
  static constexpr int kLength_ms = 4, kRow_ms = kLength_ms * Yields::kInARow;

  Yields::Clock::time_point at(int ms) const { return begin_ + std::chrono::milliseconds(ms); }
  void yield(int count, int from_ms) {
    for (int ms = from_ms; ms < from_ms + count * kLength_ms; ms += kLength_ms)
      yields_.note(at(ms), at(ms + kLength_ms));
  }
  /// From when on they are tried again.
  void expect_none_until(int ms) {
    EXPECT_FALSE(yields_.pay(at(ms - 1)));
    EXPECT_TRUE(yields_.pay(at(ms)));
  }

  const Yields::Clock::time_point begin_ = Yields::Clock::now();
};

TEST_F(LongYieldsTest, MakeItSleepAfterSoManyInARow) {
  yield(Yields::kInARow - 1, 0);
  for (int ms = 100; ms < 100 + kRow_ms - kLength_ms; ms += kLength_ms) {
    yield(1, ms);  // the first of these is long after the last one before
    yields_.note(at(ms + kLength_ms), at(ms + kLength_ms));  // short ones do not end a row
  }
  EXPECT_EQ(sleeps_in(110), 0);
  patience_.renew();
  yield(1, 100 + kRow_ms - kLength_ms);
  EXPECT_EQ(sleeps_in(110), 10);
  expect_none_until(100 + 2 * kRow_ms);
}

/// Expect pauses of twice as long after each row of two, until such a row costs one part in 64.
TEST_F(LongYieldsTest, AreTriedTwiceAsRarelyAfterEachFurtherRow) {
  constexpr int kAgain_ms = kLength_ms * Yields::kInARowAgain;
  yield(Yields::kInARow, 0);
  int without_ms = kRow_ms, again_ms = kRow_ms + without_ms;
  for (int i = 0; i < 8; ++i) {
    yield(Yields::kInARowAgain - 1, again_ms);
    EXPECT_TRUE(yields_.pay(at(again_ms)));
    yield(1, again_ms + kAgain_ms - kLength_ms);
    without_ms = std::min(2 * without_ms, kAgain_ms * Yields::kTimesWithout);
    again_ms += kAgain_ms + without_ms;
    expect_none_until(again_ms);
  }
  EXPECT_EQ(without_ms, kAgain_ms * Yields::kTimesWithout);
}

/// Given a second row long after the pause for the first.
TEST_F(LongYieldsTest, AreForgottenWhereYieldsHavePaidSince) {
  yield(Yields::kInARow, 0);
  const int later_ms = 3 * kRow_ms + 1;
  yield(Yields::kInARow - 1, later_ms);
  EXPECT_TRUE(yields_.pay(at(later_ms + kRow_ms)));
  yield(1, later_ms + kRow_ms - kLength_ms);
  expect_none_until(later_ms + 2 * kRow_ms);
}

TEST(WaitingRecordsTest, LongWaitsForMegabytesAreNoReasonToSleepWhereAWordIsWaitedFor) {
  WaitingRecords records;
  const auto begin = Yields::Clock::now();
  for (int i = 0; i < Yields::kInARow; ++i) {
    const auto at = begin + i * std::chrono::milliseconds(40);
    records.of(64 << 20).yields.note(at, at + std::chrono::milliseconds(40));
  }
  const auto now = begin + Yields::kInARow * std::chrono::milliseconds(50);
  EXPECT_FALSE(records.of(64 << 20).yields.pay(now));
  EXPECT_FALSE(records.of(32 << 20).yields.pay(now)) << "which tells as much";
  EXPECT_TRUE(records.of(64 << 10).yields.pay(now));
  EXPECT_TRUE(records.of(0).yields.pay(now));
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

/// Expect few spins after four waits that ended with a yield to a rank on the same core, and all of them again after one
/// that was met by spinning.
TEST_F(PatienceTest, SpinsLittleWhereItYieldsToWhomItWaitsFor) {
  const auto spins_until_a_yield_of = [&](std::chrono::microseconds length) {
    int rounds = 0;
    for (; sleeps_in(1) == 0; ++rounds) {
    }
    const auto now = Yields::Clock::now();
    yields_.note(now - length, now);
    patience_.renew();
    return rounds - kWaiting.yields;
  };
  for (int us : {0, 2000})  // to nobody, and to somebody who works
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(spins_until_a_yield_of(std::chrono::microseconds(us)), kWaiting.spins);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(spins_until_a_yield_of(std::chrono::microseconds(100)), kWaiting.spins);
  EXPECT_EQ(spins_until_a_yield_of(std::chrono::microseconds(10)), Patience::kFewSpins);
  EXPECT_EQ(sleeps_in(kWaiting.spins), 0);  // this one tries again, and meets news
  patience_.renew();
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(spins_until_a_yield_of(std::chrono::microseconds(100)), kWaiting.spins);
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
