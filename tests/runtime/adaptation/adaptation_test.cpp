// SPDX-License-Identifier: Apache-2.0
// What all ranks learn alike: notes and epochs, which calls are prepared again, and what a learner's error ends.
#include "hemiola/runtime/adaptation/adaptation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../contracts/on_threads.hpp"
#include "../in_process/in_process_control.hpp"
#include "../in_process/in_process_session.hpp"
#include "../in_process/in_process_wire.hpp"
#include "hemiola/algorithms/published/direct.hpp"
#include "hemiola/algorithms/published/ring.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/runtime/adaptation/density_watch.hpp"
#include "hemiola/runtime/adaptation/late_habits.hpp"
#include "hemiola/runtime/adaptation/late_watch.hpp"
#include "hemiola/runtime/communicator/call_desk.hpp"
#include "hemiola/runtime/communicator/communicator.hpp"

namespace hemiola {
namespace {

constexpr int kRanks = 3;
constexpr LateRank kLate{Rank{1}, 2};
/// Recipes.
constexpr std::uint8_t kPlain = 0, kPlanned = 1;

Signature all_reduce_of(std::int64_t bytes, SparseMode sparse = SparseMode::no) {
  Signature signature;
  signature.kind = OperationKind::all_reduce;
  signature.sparse = sparse;
  signature.element_count = bytes;
  return signature;
}

/// Finds a late rank, or slow ports, from the operation after `number` on. Keeps the digests of what has run.
class Switching final : public Learner {
 public:
  Switching(std::uint64_t number, Findings found) : number_(number), found_(std::move(found)) {}
  bool note(const Note& note) override {
    ran.push_back(note.signature.schedule_digest);
    if (note.number == number_) switched_ = true;
    return note.number == number_;
  }
  void find(const Signature&, Findings* found) const override {
    if (!switched_) return;
    if (found_.late) found->late = found_.late;
    if (found_.ports.version > 0) found->ports = found_.ports;
  }

  std::vector<std::uint64_t> ran;

 private:
  std::uint64_t number_;
  Findings found_;
  std::atomic<bool> switched_ = false;
};

void note(Adaptation* adaptation, std::uint64_t number) {
  const Signature signature = all_reduce_of(100);
  adaptation->note({.number = number, .signature = signature});
}

TEST(Adaptation, AnEpochBeginsWithTheOperationAfterTheOneInWhichALearnerFindsSomethingElse) {
  Adaptation adaptation;
  adaptation.add(std::make_shared<Switching>(1, Findings{.late = kLate}));
  note(&adaptation, 0);
  EXPECT_EQ(adaptation.epoch(), 0);
  EXPECT_FALSE(adaptation.findings(all_reduce_of(100)).late);
  note(&adaptation, 1);
  note(&adaptation, 2);
  EXPECT_EQ(adaptation.epoch(), 1);
  EXPECT_EQ(adaptation.findings(all_reduce_of(100)).late, kLate);
}

TEST(Adaptation, EveryLearnerIsToldThoughOneBeforeItBeginsAnEpoch) {
  Adaptation adaptation;
  const auto first = std::make_shared<Switching>(0, Findings{}),
             second = std::make_shared<Switching>(0, Findings{});
  adaptation.add(first);
  adaptation.add(second);
  note(&adaptation, 0);
  EXPECT_EQ(adaptation.epoch(), 1);
  EXPECT_EQ(second->ran.size(), 1);
}

TEST(Adaptation, NobodyIsPlannedForAsLateWhilePortsAreSlow) {
  Adaptation adaptation;
  adaptation.add(std::make_shared<Switching>(0, Findings{.late = kLate}));
  adaptation.add(std::make_shared<Switching>(1, Findings{.ports = {1, {{Rank{0}, 2.0}}}}));
  note(&adaptation, 0);
  EXPECT_EQ(adaptation.findings(Signature{}).late, kLate);
  note(&adaptation, 1);
  EXPECT_FALSE(adaptation.findings(Signature{}).late);
  EXPECT_EQ(adaptation.findings(Signature{}).ports.slow.size(), 1);
}

/// To which rank 2 of three comes a second after the others.
ArrivalLog log_of_a_late_rank() {
  ArrivalLog log(kRanks);
  const std::array<Arrival, kRanks> row{{{0, 0}, {0, 0}, {1'000'000'000, 0}}};
  std::ranges::copy(row, log.next_row().begin());
  log.commit({OperationKind::all_reduce, 100});
  return log;
}

TEST(Adaptation, LateLearnersAskForAnEpochWhenTheirHabitBegins) {
  const ArrivalLog log = log_of_a_late_rank();
  const Signature call = all_reduce_of(100), other = all_reduce_of(1000);
  const LateForecast forecast{.plain_s = 1, .segment_s = 0.1, .finish_s = {1, 0.5}};
  const LateOutlook outlook{.plain_s = 1, .delay_s = 1, .finish_s = 0.5};
  Adaptation adaptation;
  adaptation.add(std::make_shared<LateWatch>());
  adaptation.add(std::make_shared<LateHabits>());
  for (std::uint64_t number = 0; number < LateWatch::kOperations; ++number) {
    EXPECT_EQ(adaptation.epoch(), 0);
    adaptation.note(
        {.number = number, .signature = call, .forecast = &forecast, .outlook = &outlook, .arrivals = &log});
  }
  EXPECT_EQ(adaptation.epoch(), 1);
  EXPECT_TRUE(adaptation.findings(call).seeks_late);
  EXPECT_EQ(adaptation.findings(call).late, (LateRank{Rank{2}, 4}));
  EXPECT_FALSE(adaptation.findings(other).seeks_late);
  EXPECT_FALSE(adaptation.findings(other).late);
}

TEST(Adaptation, WhatSaysNothingOfWhoIsLateIsNotCounted) {
  const ArrivalLog log = log_of_a_late_rank();
  const Signature call = all_reduce_of(100);
  const LateOutlook outlook{.plain_s = 1, .delay_s = 1, .finish_s = 0.5};
  Adaptation adaptation;
  adaptation.add(std::make_shared<LateHabits>());
  for (int i = 0; i < 20; ++i) {
    adaptation.note({.signature = call, .outlook = &outlook});  // nobody is told
    adaptation.note({.signature = call, .arrivals = &log});     // no plan
    adaptation.note(
        {.signature = call, .outlook = &outlook, .arrivals = &log, .sends_all = false});  // zeros left out
  }
  EXPECT_EQ(adaptation.epoch(), 0);
}

TEST(Adaptation, ALookAtZerosBeginsAnEpochAndSoDoesTheNextOneThatIsDue) {
  const Signature call = all_reduce_of(100, SparseMode::yes);
  Adaptation adaptation;
  adaptation.add(std::make_shared<DensityWatch>());
  EXPECT_TRUE(adaptation.findings(call).looks);
  adaptation.note({.signature = call, .zeros = ZerosNote{.density = 0.25, .pause = 3}});
  EXPECT_EQ(adaptation.epoch(), 1);
  EXPECT_FALSE(adaptation.findings(call).looks);
  EXPECT_EQ(adaptation.findings(call).density, 0.25);
  EXPECT_TRUE(adaptation.findings(all_reduce_of(200, SparseMode::yes)).looks);
  adaptation.note({.signature = call, .zeros = ZerosNote{}});
  EXPECT_EQ(adaptation.epoch(), 1);
  adaptation.note({.signature = call, .zeros = ZerosNote{}});
  EXPECT_EQ(adaptation.epoch(), 2);
  EXPECT_TRUE(adaptation.findings(call).looks);
}

std::shared_ptr<const Schedule> shared(Schedule schedule) {
  return std::make_shared<const Schedule>(std::move(schedule));
}

/// One rank, which runs a ring, and direct rounds once somebody is expected to be late.
class User {
 public:
  User(std::shared_ptr<Session> session, const CommunicatorOptions& options, std::shared_ptr<Learner> learner)
      : comm_(std::move(session), testing::all_ranks(kRanks), options),
        desk_(&comm_, {[](const Question& question) {
                         return Bytes(1, std::byte{question.found.late ? kPlanned : kPlain});
                       },
                       [](const Bytes& recipe, const Question&) {
                         const bool is_planned = recipe.front() == std::byte{kPlanned};
                         return Selection{shared(is_planned ? algorithms::all_reduce_direct_rounds(kRanks)
                                                            : algorithms::all_reduce_ring(kRanks)),
                                          std::nullopt};
                       }}) {
    comm_.learn(std::move(learner));
  }

  Communicator& comm() { return comm_; }
  PreparedCall call(std::vector<std::int32_t>* array, std::shared_ptr<const Schedule> schedule = nullptr) {
    const std::int64_t shape[] = {static_cast<std::int64_t>(array->size())};
    Call call;
    call.kind = OperationKind::all_reduce;
    call.input = call.output = ArrayView{reinterpret_cast<std::byte*>(array->data()), DType::int32, shape};
    call.schedule = std::move(schedule);
    return desk_.prepare(call, {});
  }

 private:
  Communicator comm_;
  CallDesk desk_;
};

void on_users(const std::function<std::shared_ptr<Learner>(Rank)>& learner,
              const std::function<void(Rank, User&)>& body) {
  CommunicatorOptions options;
  options.timeout_s = 60;
  options.wire = std::make_shared<testing::InProcessKind>();
  options.control = std::make_shared<testing::InProcessControl>();
  const auto sessions = testing::InProcessSession::make(kRanks);
  testing::on_threads(kRanks, [&](Rank rank) {
    User user(sessions[static_cast<std::size_t>(rank)], options, learner(rank));
    body(rank, user);
  });
}

// Given calls that two ranks prepare before any of them runs, and the third in its turn. Expect each rank to run the same,
// and something else from operation g + 1 on, exactly.
TEST(Adaptation, AllRanksRunTheNewPlanFromTheSameOperationOnWheneverTheyHavePreparedIt) {
  constexpr std::size_t kCalls = 9, kSwitch = 4;
  std::vector<std::shared_ptr<Switching>> learners;
  for (int rank = 0; rank < kRanks; ++rank)
    learners.push_back(std::make_shared<Switching>(kSwitch, Findings{.late = kLate}));
  std::atomic<int> have_prepared = 0;
  on_users([&](Rank rank) { return learners[static_cast<std::size_t>(rank)]; },
           [&](Rank rank, User& user) {
             std::vector<std::vector<std::int32_t>> arrays(kCalls, std::vector<std::int32_t>(100, 1));
             std::vector<std::shared_ptr<PendingOperation>> pending;
             if (rank != 2) {
               for (auto& array : arrays) pending.push_back(user.comm().start(user.call(&array)));
               ++have_prepared;
               for (const auto& operation : pending) operation->wait_for(60);
             } else {
               // Preparing the first call lets the others choose; what they have prepared runs only with this rank.
               while (have_prepared < kRanks - 1) std::this_thread::yield();
               for (auto& array : arrays) user.comm().run(user.call(&array));
             }
             for (const auto& array : arrays) EXPECT_EQ(array, std::vector<std::int32_t>(100, kRanks));
           });
  for (const auto& learner : learners) {
    ASSERT_EQ(learner->ran.size(), kCalls);
    EXPECT_EQ(learner->ran, learners.front()->ran);
  }
  const std::vector<std::uint64_t>& ran = learners.front()->ran;
  EXPECT_NE(ran.front(), ran.back());
  for (std::size_t i = 0; i < kCalls; ++i) EXPECT_EQ(ran[i], i <= kSwitch ? ran.front() : ran.back()) << i;
}

TEST(Adaptation, AScheduleThatTheUserNamesStays) {
  std::vector<std::shared_ptr<Switching>> learners;
  for (int rank = 0; rank < kRanks; ++rank)
    learners.push_back(std::make_shared<Switching>(1, Findings{.late = kLate}));
  const auto ring = shared(algorithms::all_reduce_ring(kRanks));
  on_users([&](Rank rank) { return learners[static_cast<std::size_t>(rank)]; },
           [&](Rank, User& user) {
             std::vector<std::int32_t> array(100, 1);
             for (int i = 0; i < 4; ++i) user.comm().run(user.call(&array, ring));
           });
  EXPECT_EQ(learners.front()->ran, std::vector<std::uint64_t>(4, learners.front()->ran.front()));
}

/// Fails on one rank, once operation 2 has succeeded.
class Failing final : public Learner {
 public:
  explicit Failing(Rank rank) : rank_(rank) {}
  bool note(const Note& note) override {
    if (rank_ == 1 && note.number == 2) throw std::runtime_error("no memory to learn with");
    return false;
  }
  void find(const Signature&, Findings*) const override {}

 private:
  Rank rank_;
};

// A rank that has noted less than the others would go another way than they. Expect its communicator to end, on all ranks.
TEST(Adaptation, ALearnerThatThrowsEndsTheCommunicatorOnAllRanks) {
  on_users([](Rank rank) { return std::make_shared<Failing>(rank); },
           [](Rank rank, User& user) {
             std::vector<std::int32_t> array(100, 1);
             const auto run = [&] { user.comm().run(user.call(&array)); };
             run();
             run();
             if (rank == 1) {
               EXPECT_THROW(run(), std::runtime_error);
               EXPECT_THROW(run(), LostRankError);
               return;
             }
             try {
               run();  // may be over before rank 1 has failed
               run();
               ADD_FAILURE() << "rank " << rank << " has seen nothing";
             } catch (const LostRankError& error) {
               EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
             }
           });
}

}  // namespace
}  // namespace hemiola
