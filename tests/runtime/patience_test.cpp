#include "hemiola/runtime/executor/patience.hpp"

#include <gtest/gtest.h>

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

/// Given yields in a row that each let somebody work for 4 ms. Expect sleep instead of yields, and yields again later.
TEST_F(PatienceTest, SleepsWhereSomebodyElseKeepsTheCoreAndYieldsAgainLater) {
  using std::chrono::milliseconds;
  constexpr int kAll = 4 * Yields::kInARow;
  const auto begin = Yields::Clock::now();
  const auto at = [&](int ms) { return begin + milliseconds(ms); };
  for (int ms = 0; ms < kAll - 4; ms += 4) yields_.note(at(ms), at(ms + 4));
  for (int ms = 100; ms < 100 + kAll - 4; ms += 4) {
    yields_.note(at(ms), at(ms + 4));  // the first of these is long after the last one before
    yields_.note(at(ms + 4), at(ms + 4));
  }
  EXPECT_EQ(sleeps_in(110), 0);
  patience_.renew();
  yields_.note(at(100 + kAll - 4), at(100 + kAll));
  EXPECT_EQ(sleeps_in(110), 10);
  const auto again = at(100 + kAll + kAll * Yields::kTimesWithout);
  EXPECT_FALSE(yields_.pay(again - milliseconds(1)));
  EXPECT_TRUE(yields_.pay(again));
}

TEST(WaitingRecordsTest, LongWaitsForMegabytesAreNoReasonToSleepWhereAWordIsWaitedFor) {
  WaitingRecords records;
  const auto begin = Yields::Clock::now();
  for (int i = 0; i < Yields::kInARow; ++i) {
    const auto at = begin + i * std::chrono::milliseconds(40);
    records.of(64 << 20).yields.note(at, at + std::chrono::milliseconds(40));
  }
  const auto now = begin + std::chrono::seconds(1);
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
