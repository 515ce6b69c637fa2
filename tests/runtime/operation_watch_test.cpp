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

class UnluckySession final : public Session {
 public:
  explicit UnluckySession(Misfortune* misfortune) : misfortune_(misfortune) {}

  Rank rank() const override { return Rank{2}; }
  int rank_count() const override { return 3; }
  int host_of(Rank) const override { return 0; }
  std::vector<Bytes> exchange(const std::vector<Rank>&, std::string_view, std::span<const std::byte>,
                              const Deadline&) override {
    return {};
  }
  std::shared_ptr<SharedRegion> shared(const std::vector<Rank>&, std::size_t, const Deadline&) override {
    return nullptr;
  }
  std::vector<LostRank> lost() const override {
    if (!misfortune_->has_happened()) return {};
    return {{Rank{0}, "it has left the job"}, {Rank{1}, "its process has ended"}};
  }
  std::vector<Rank> survivors(const std::vector<Rank>& members, std::string_view, const Deadline&) override {
    return members;
  }
  ClockReading clock() const override { return {1, 0}; }

 private:
  Misfortune* misfortune_;
};

class UnluckyPulse final : public Pulse {
 public:
  explicit UnluckyPulse(Misfortune* misfortune) : misfortune_(misfortune) {}

  void beat() override {}
  std::int64_t last_sign_ns(Rank) const override { return 0; }
  void give_up(Failure, Rank, const std::string&) override {}
  std::vector<GivenUp> given_up() const override {
    if (!misfortune_->has_happened()) return {};
    return {{Rank{0}, Failure::lost_rank, Rank{1}, "rank 1 has died"}};
  }
  std::vector<LostRank> lost() const override { return {}; }

 private:
  Misfortune* misfortune_;
};

class EmptyRoll final : public Roll {
 public:
  void publish(std::uint64_t, const Word&) override {}
  bool has_arrived(Rank, std::uint64_t) const override { return false; }
  Entry entry(Rank, std::uint64_t) const override { return {signature_, {}, -1, kUnknownTime}; }
  void complete(std::uint64_t) override {}
  bool has_completed(Rank, std::uint64_t) const override { return false; }

 private:
  Signature signature_;
};

/// What nobody but rank 0 has come to the end of, and that one has, to give up afterwards; time goes on as it is told to.
struct LeftAlone final : Session, Pulse, Roll {
  Rank rank() const override { return Rank{1}; }
  int rank_count() const override { return 2; }
  int host_of(Rank) const override { return 0; }
  std::vector<Bytes> exchange(const std::vector<Rank>&, std::string_view, std::span<const std::byte>,
                              const Deadline&) override {
    return {};
  }
  std::shared_ptr<SharedRegion> shared(const std::vector<Rank>&, std::size_t, const Deadline&) override {
    return nullptr;
  }
  std::vector<LostRank> lost() const override { return {}; }
  std::vector<Rank> survivors(const std::vector<Rank>& members, std::string_view, const Deadline&) override {
    return members;
  }
  ClockReading clock() const override { return {now_ns, 0}; }

  void beat() override {}
  std::int64_t last_sign_ns(Rank) const override { return 0; }
  void give_up(Failure, Rank, const std::string&) override {}
  std::vector<GivenUp> given_up() const override { return {{Rank{0}, failure, Rank{0}, "rank 0 gave up"}}; }

  void publish(std::uint64_t, const Word&) override {}
  bool has_arrived(Rank, std::uint64_t) const override { return true; }
  Entry entry(Rank, std::uint64_t) const override { return {signature, {}, -1, kUnknownTime}; }
  void complete(std::uint64_t) override {}
  bool has_completed(Rank, std::uint64_t number) const override { return number < completed; }

  std::int64_t now_ns = 1;
  Failure failure = Failure::lost_rank;
  std::uint64_t completed = 100;
  Signature signature;
};

/// Whether a look at time `ms` ends the operation.
bool ends_at(LeftAlone* found, OperationWatch* watch, std::int64_t ms) {
  found->now_ns = 1 + ms * 1'000'000;
  try {
    watch->check();
  } catch (const LostRankError&) {
    return true;
  }
  return false;
}

class OperationWatchAlone : public ::testing::Test {
 protected:
  std::shared_ptr<LeftAlone> found_ = std::make_shared<LeftAlone>();
  Members members_{found_, all_ranks(2), Rank{1}};
  InProcessWire wire_{mailboxes_for(2), Rank{1}, {}};
  OperationWatch watch_{&members_, found_.get(), found_.get(), &wire_};
  std::function<void()> no_check_;
};

TEST_F(OperationWatchAlone, WhoWasThroughAndGaveUpLaterLeavesTimeToEnd) {
  for (const std::uint64_t number : {0u, 1u}) {
    const std::int64_t begin_ms = 1000 * static_cast<std::int64_t>(number);
    found_->now_ns = 1 + begin_ms * 1'000'000;
    watch_.begin(number, Signature{}, 300, no_check_);
    EXPECT_FALSE(ends_at(found_.get(), &watch_, begin_ms));
    EXPECT_FALSE(ends_at(found_.get(), &watch_, begin_ms + 199));
    EXPECT_TRUE(ends_at(found_.get(), &watch_, begin_ms + 200));
  }
}

TEST_F(OperationWatchAlone, WhoGaveUpBeforeItsEndIsHeardAtOnce) {
  found_->completed = 0;
  watch_.begin(0, Signature{}, 300, no_check_);
  EXPECT_TRUE(ends_at(found_.get(), &watch_, 0));
}

TEST_F(OperationWatchAlone, WhoAbortsIsHeardAtOnceThoughItWasThrough) {
  found_->failure = Failure::aborted;
  watch_.begin(0, Signature{}, 300, no_check_);
  EXPECT_TRUE(ends_at(found_.get(), &watch_, 0));
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
  watch.begin(0, Signature{}, 300, no_check);
  try {
    watch.check();
    watch.check();
    FAIL() << "two ranks are gone";
  } catch (const LostMemberError& e) {
    EXPECT_EQ(e.rank, Rank{1}) << e.what();
  }
}

}  // namespace
}  // namespace hemiola::testing
