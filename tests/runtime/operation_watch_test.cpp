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
