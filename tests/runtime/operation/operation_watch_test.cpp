// SPDX-License-Identifier: Apache-2.0
// What ends an operation, where several things have gone wrong at once.
#include "hemiola/runtime/operation/operation_watch.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "contracts/on_threads.hpp"
#include "in_process/in_process_wire.hpp"

namespace hemiola::testing {
namespace {

/// Rank 1 has died, and rank 0 has given up over it and ended, after whoever looks first has looked.
struct Misfortune {
  bool has_happened() { return looks++ > 0; }
  int looks = 0;
};

/// The last of so many ranks, of which none is lost.
class BareSession : public Session {
 public:
  explicit BareSession(int rank_count) : rank_count_(rank_count) {}

  Rank rank() const override { return Rank{rank_count_ - 1}; }
  int rank_count() const override { return rank_count_; }
  int host_of(Rank) const override { return 0; }
  std::vector<Bytes> exchange(const std::vector<Rank>&, std::string_view, std::span<const std::byte>,
                              const Deadline&) override {
    return {};
  }
  std::shared_ptr<SharedRegion> shared(const std::vector<Rank>&, std::size_t, const Deadline&) override {
    return nullptr;
  }
  std::vector<LostRank> lost() const override { return {}; }
  std::vector<Rank> next_members(const std::vector<Rank>& members, std::string_view, const Wishes&,
                                 const Deadline&) override {
    return members;
  }
  ClockReading clock() const override { return {now_ns, 0}; }

  std::int64_t now_ns = 1;

 protected:
  void publish_cause(const std::optional<Cause>&) override {}

 private:
  int rank_count_;
};

class UnluckySession final : public BareSession {
 public:
  explicit UnluckySession(Misfortune* misfortune) : BareSession(3), misfortune_(misfortune) {}

  std::vector<LostRank> lost() const override {
    if (!misfortune_->has_happened()) return {};
    return {{.rank = Rank{0}, .reason = "it has left the job", .at_ns = 5},
            {.rank = Rank{1}, .reason = "its process has ended", .at_ns = 5}};
  }

 private:
  Misfortune* misfortune_;
};

/// Whoever has given up is all that it tells of.
class BarePulse : public Pulse {
 public:
  void beat() override {}
  std::int64_t last_sign_ns(Rank) const override { return 0; }
  void give_up(Failure, const Cause&) override {}
  std::vector<LostRank> lost() const override { return {}; }
};

class UnluckyPulse final : public BarePulse {
 public:
  explicit UnluckyPulse(Misfortune* misfortune) : misfortune_(misfortune) {}

  std::vector<GivenUp> given_up() const override {
    if (!misfortune_->has_happened()) return {};
    return {{Rank{0}, Failure::lost_rank, {Rank{1}, "has died", 1}}};
  }

 private:
  Misfortune* misfortune_;
};

class EmptyRoll : public Roll {
 public:
  void publish(std::uint64_t, const Word&) override {}
  bool has_arrived(Rank, std::uint64_t) const override { return false; }
  Entry entry(Rank, std::uint64_t) const override { return {signature_, {}, {}}; }
  bool is_called(std::uint64_t) const override { return false; }
  void complete(std::uint64_t) override {}
  bool has_completed(Rank, std::uint64_t) const override { return false; }

 private:
  Signature signature_;
};

/// Rank 0 has given up.
struct QuitterPulse final : BarePulse {
  std::vector<GivenUp> given_up() const override { return {{Rank{0}, failure, {Rank{0}, "gave up"}}}; }

  Failure failure = Failure::lost_rank;
};

/// All have come to the operations, and rank 0 to the end of so many.
struct LeftAloneRoll final : EmptyRoll {
  bool has_arrived(Rank, std::uint64_t) const override { return true; }
  bool has_completed(Rank, std::uint64_t number) const override { return number < completed; }

  std::uint64_t completed = 100;
};

/// Rank 1, whose time goes on as it is told to.
class OperationWatchAlone : public ::testing::Test {
 protected:
  /// Whether a look at time `ms` ends the operation.
  bool ends_at(std::int64_t ms) {
    session_->now_ns = 1 + ms * 1'000'000;
    try {
      watch_.check();
    } catch (const LostRankError&) {
      return true;
    }
    return false;
  }

  std::shared_ptr<BareSession> session_ = std::make_shared<BareSession>(2);
  Members members_{session_, all_ranks(2), Rank{1}};
  LeftAloneRoll roll_;
  QuitterPulse pulse_;
  InProcessWire wire_{mailboxes_for(2), Rank{1}, {}};
  OperationWatch watch_{&members_, &roll_, &pulse_, &wire_};
  std::function<void()> no_check_;
};

TEST_F(OperationWatchAlone, WhoWasThroughAndGaveUpLaterLeavesTimeToEnd) {
  for (const std::uint64_t number : {0u, 1u}) {
    const std::int64_t begin_ms = 1000 * static_cast<std::int64_t>(number);
    session_->now_ns = 1 + begin_ms * 1'000'000;
    watch_.begin(number, Signature{}, 300, no_check_, members_.now_ns());
    for (std::int64_t ms = 0; ms < 200; ms += 5) EXPECT_FALSE(ends_at(begin_ms + ms)) << ms;
    EXPECT_TRUE(ends_at(begin_ms + 200));
  }
}

/// Meanwhile its messages may have come, for which it looks before the next time.
TEST_F(OperationWatchAlone, WhoWasThroughAndGaveUpLaterLeavesTimeToOneWithoutACore) {
  watch_.begin(0, Signature{}, 300, no_check_, members_.now_ns());
  EXPECT_FALSE(ends_at(0));
  EXPECT_FALSE(ends_at(1000));
}

TEST_F(OperationWatchAlone, WhoGaveUpBeforeItsEndIsHeardAtOnce) {
  roll_.completed = 0;
  watch_.begin(0, Signature{}, 300, no_check_, members_.now_ns());
  EXPECT_TRUE(ends_at(0));
}

TEST_F(OperationWatchAlone, WhoAbortsIsHeardAtOnceThoughItWasThrough) {
  pulse_.failure = Failure::aborted;
  watch_.begin(0, Signature{}, 300, no_check_, members_.now_ns());
  EXPECT_TRUE(ends_at(0));
}

TEST_F(OperationWatchAlone, OnlyWhoAbortsIsHeardByAnOperationThatNeedsNobody) {
  watch_.begin(0, Signature{}, 300, no_check_, members_.now_ns());
  EXPECT_NO_THROW(watch_.heed_aborts());
  pulse_.failure = Failure::aborted;
  EXPECT_THROW(watch_.heed_aborts(), LostRankError);
}

TEST(OperationWatch, WhoGivesUpOverADeathAndEndsIsNotBlamedForIt) {
  Misfortune misfortune;
  const auto session = std::make_shared<UnluckySession>(&misfortune);
  const Members members{session, all_ranks(3), Rank{2}};
  EmptyRoll roll;
  UnluckyPulse pulse(&misfortune);
  const InProcessWire wire(mailboxes_for(3), Rank{2}, {});
  OperationWatch watch(&members, &roll, &pulse, &wire);
  const std::function<void()> no_check;
  watch.begin(0, Signature{}, 300, no_check, members.now_ns());
  try {
    watch.check();
    watch.check();
    FAIL() << "two ranks are gone";
  } catch (const LostMemberError& e) {
    EXPECT_EQ(e.rank, Rank{1}) << e.what();
  }
}

/// Two ranks have given up, the second over what happened before the first one's cause.
struct TwoCausesPulse final : BarePulse {
  std::vector<GivenUp> given_up() const override {
    return {{Rank{0}, Failure::lost_rank, {Rank{3}, "has died", 9}},
            {Rank{1}, Failure::timeout, {Rank{4}, "has not arrived within 2 s", 8, true}}};
  }
};

TEST(OperationWatch, OfTwoCausesTheEarlierOneIsNamed) {
  const auto session = std::make_shared<BareSession>(5);
  const Members members{session, all_ranks(5), Rank{2}};
  EmptyRoll roll;
  TwoCausesPulse pulse;
  const InProcessWire wire(mailboxes_for(5), Rank{2}, {});
  OperationWatch watch(&members, &roll, &pulse, &wire);
  const std::function<void()> no_check;
  watch.begin(0, Signature{}, 300, no_check, members.now_ns());
  try {
    watch.check();
    FAIL() << "two ranks have given up";
  } catch (const AbsentMemberError& e) {
    EXPECT_EQ(e.cause.rank, Rank{4});
    EXPECT_EQ(e.cause.at_ns, 8);
    EXPECT_NE(std::string(e.what()).find("rank 4 has not arrived within 2 s"), std::string::npos) << e.what();
  }
}

TEST(OperationWatch, SaysThatNobodyWaitsOnlyBesideCallersOfWhomNoneDoes) {
  OperationWatch watch(nullptr, nullptr, nullptr, nullptr);
  EXPECT_TRUE(watch.is_awaited());
  Callers callers;
  watch.run_beside(&callers);
  EXPECT_FALSE(watch.is_awaited());
  {
    const Callers::OneWaits waits(&callers);
    EXPECT_TRUE(watch.is_awaited());
  }
  EXPECT_FALSE(watch.is_awaited());
  watch.run_beside(nullptr);
  EXPECT_TRUE(watch.is_awaited());
}

}  // namespace
}  // namespace hemiola::testing
