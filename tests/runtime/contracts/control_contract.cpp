// SPDX-License-Identifier: Apache-2.0
#include "control_contract.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "eventually.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/runtime/control/late_word.hpp"
#include "hemiola/runtime/operation/agreement.hpp"
#include "hemiola/runtime/operation/late_entry.hpp"
#include "on_threads.hpp"

namespace hemiola::testing {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ControlContract);

std::vector<ControlPlace> ControlContract::connect(int rank_count) {
  const auto sessions = GetParam().sessions(rank_count);
  std::vector<ControlPlace> places(static_cast<std::size_t>(rank_count));
  on_threads(rank_count, [&](Rank rank) {
    ControlPlace& place = places[static_cast<std::size_t>(rank)];
    place.members = {sessions[static_cast<std::size_t>(rank)], all_ranks(rank_count), rank};
    place.control = GetParam().kind->connect(place.members, Deadline(60));
  });
  return places;
}

namespace {

const LateRegister::Check kNoCheck = [] {};

Signature signature_of(std::uint64_t number) {
  Signature signature;
  signature.kind = OperationKind::all_reduce;
  signature.dtype = DType::float32;
  const std::int64_t shape[]{static_cast<std::int64_t>(number) + 1, 4};
  signature.set_shape(shape);
  return signature;
}

std::string disagreement(const Members& members, const Roll& roll, Rank rank, const Signature& own) {
  try {
    check_agreement(0, members, rank, roll.entry(rank, 0), own);
  } catch (const MismatchError& e) {
    return e.what();
  }
  return "";
}

// ---- roll ----

// Given that nobody publishes operation g+2 before all have completed g. Expect that everybody reads everybody's
// signature whole, and the same times.
TEST_P(ControlContract, RanksSeeEachOthersSignaturesAndOneTimeOfArrival) {
  constexpr int kRanks = 3;
  constexpr std::uint64_t kOperations = 300;
  auto places = connect(kRanks);
  std::vector<std::vector<std::int64_t>> times(kRanks);
  const auto arrival = [](Rank rank, std::uint64_t number) {
    const auto own_ns = static_cast<std::int64_t>(number) * 100 + rank;
    return Arrival{1'000'000 + own_ns, own_ns};
  };
  on_threads(kRanks, [&](Rank self) {
    Roll& roll = *places[static_cast<std::size_t>(self)].control.roll;
    for (std::uint64_t number = 0; number < kOperations; ++number) {
      roll.publish(number, {signature_of(number), "", arrival(self, number)});
      roll.call(number);
      for (Rank rank : all_ranks(kRanks)) {
        // Where it is known first that all have come and agree, the words that were called for follow.
        while (!roll.has_arrived(rank, number) ||
               roll.entry(rank, number).arrival.at_ns == Arrival::kUnknownTime)
          std::this_thread::yield();
        const Roll::Entry entry = roll.entry(rank, number);
        EXPECT_EQ(entry.signature, signature_of(number));
        EXPECT_EQ(entry.complaint, "");
        EXPECT_EQ(entry.arrival.own_ns, arrival(rank, number).own_ns);
        times[static_cast<std::size_t>(self)].push_back(entry.arrival.at_ns);
      }
      roll.complete(number);
    }
    for (Rank rank : all_ranks(kRanks)) eventually([&] { return roll.has_completed(rank, kOperations - 1); });
  });
  EXPECT_EQ(times[0], times[1]);
  EXPECT_EQ(times[0], times[2]);
  for (std::size_t i = kRanks; i < times[0].size(); ++i) EXPECT_GE(times[0][i], times[0][i - kRanks]);
}

// Given that all want to know when each has come. Expect that whoever knows that a rank has come knows when, the same on
// all ranks, though nobody calls for words.
TEST_P(ControlContract, WhoWantsToKnowIsToldWhenEachHasComeAsSoonAsItIsKnownThatAllHave) {
  constexpr int kRanks = 3;
  constexpr std::uint64_t kOperations = 100;
  auto places = connect(kRanks);
  std::vector<std::vector<std::int64_t>> times(kRanks);
  on_threads(kRanks, [&](Rank self) {
    Roll& roll = *places[static_cast<std::size_t>(self)].control.roll;
    for (std::uint64_t number = 0; number < kOperations; ++number) {
      roll.publish(number, {signature_of(number), "", {1 + self, 7}, true});
      for (Rank rank : all_ranks(kRanks)) {
        while (!roll.has_arrived(rank, number)) std::this_thread::yield();
        if (rank != self) {
          EXPECT_EQ(roll.entry(rank, number).arrival.own_ns, 7);
        }
        times[static_cast<std::size_t>(self)].push_back(roll.entry(rank, number).arrival.at_ns);
      }
      roll.complete(number);
      for (Rank rank : all_ranks(kRanks))
        while (number > 0 && !roll.has_completed(rank, number - 1)) std::this_thread::yield();
    }
  });
  EXPECT_EQ(times[0], times[1]);
  EXPECT_EQ(times[0], times[2]);
  EXPECT_EQ(std::ranges::count(times[0], Arrival::kUnknownTime), 0);
}

// Given operations of which each rank calls in some, and of which all want to know more in some, or one does. Expect that
// all know in which somebody has called.
TEST_P(ControlContract, AllKnowAfterTheSameOperationsThatSomebodyCalls) {
  constexpr int kRanks = 3;
  constexpr std::uint64_t kOperations = 240;
  auto places = connect(kRanks);
  on_threads(kRanks, [&](Rank self) {
    Roll& roll = *places[static_cast<std::size_t>(self)].control.roll;
    for (std::uint64_t number = 0; number < kOperations; ++number) {
      const std::uint64_t callers = number % 2 == 0 ? 0 : number / 2 % 8;  // a bit for each rank
      roll.publish(number, {.signature = signature_of(number),
                            .complaint = "",
                            .arrival = {1, 7},
                            .is_timed = number % 5 == 0,
                            .calls = (callers >> self & 1) != 0});
      roll.vote(number);
      if (number % 3 == 0 && static_cast<int>(number % kRanks) == self) roll.call(number);
      for (Rank rank : all_ranks(kRanks))
        while (!roll.has_arrived(rank, number)) std::this_thread::yield();
      EXPECT_EQ(roll.is_called(number), callers != 0) << "operation " << number << " on rank " << self;
      roll.complete(number);
    }
  });
}

// Given more operations than are kept, the last of them not yet over. Expect the latest that are over, the same on all
// ranks, though a rank that is ahead has come to two more. Where the roll keeps none, it says so.
TEST_P(ControlContract, ArrivalsAtTheLatestOperationsAreKept) {
  constexpr int kRanks = 3;
  constexpr std::uint64_t kOperations = 2 * kKeptArrivals + 7;
  auto places = connect(kRanks);
  if (!places[0].control.roll->keeps_arrivals()) {
    EXPECT_TRUE(places[0].control.roll->arrivals(0, 0).empty());
    return;
  }
  on_threads(kRanks, [&](Rank self) {
    Roll& roll = *places[static_cast<std::size_t>(self)].control.roll;
    for (std::uint64_t number = 0; number < kOperations; ++number) {
      roll.publish(number, {signature_of(number), "", {static_cast<std::int64_t>(10 * number) + self, 7}});
      for (Rank rank : all_ranks(kRanks))
        while (!roll.has_arrived(rank, number)) std::this_thread::yield();
      roll.complete(number);
    }
  });
  for (std::uint64_t number : {kOperations, kOperations + 1})
    places[1].control.roll->publish(number, {signature_of(number), "", {1, 7}});
  for (const ControlPlace& place : places) {
    const std::vector<Arrival> rows = place.control.roll->arrivals(0, kOperations);
    ASSERT_EQ(rows.size(), kRanks * kKeptArrivals);
    for (std::size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(rows[i].at_ns, 10 * (kOperations - kKeptArrivals + i / kRanks) + i % kRanks);
    EXPECT_EQ(place.control.roll->arrivals(kOperations - 2, kOperations).size(), 2 * kRanks);
    EXPECT_TRUE(place.control.roll->arrivals(kOperations, kOperations + 1).empty());
  }
}

TEST_P(ControlContract, NothingHasHappenedAtFirst) {
  const auto places = connect(2);
  const Control& zero = places[0].control;
  EXPECT_FALSE(zero.roll->has_arrived(Rank{1}, 0));
  EXPECT_FALSE(zero.roll->has_arrived(Rank{1}, 1));
  EXPECT_FALSE(zero.roll->has_completed(Rank{1}, 0));
  EXPECT_TRUE(zero.pulse->given_up().empty());
  EXPECT_EQ(zero.pulse->last_sign_ns(Rank{1}), 0);
  EXPECT_TRUE(zero.pulse->lost().empty());
}

TEST_P(ControlContract, ADisagreementNamesBothRanksAndBothValues) {
  const auto places = connect(2);
  Roll &zero = *places[0].control.roll, &one = *places[1].control.roll;
  zero.publish(0, {signature_of(0), ""});
  one.publish(0, {signature_of(1), ""});
  zero.vote(0);
  one.vote(0);
  eventually([&] { return zero.has_arrived(Rank{1}, 0) && one.has_arrived(Rank{0}, 0); });
  for (const std::string& text : {disagreement(places[0].members, zero, Rank{1}, signature_of(0)),
                                  disagreement(places[1].members, one, Rank{0}, signature_of(1))})
    for (const char* part : {"rank 0", "rank 1", "float32[1, 4]", "float32[2, 4]"})
      EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

TEST_P(ControlContract, AComplaintIsADisagreementEvenWhereSignaturesAgree) {
  const auto places = connect(2);
  Roll &zero = *places[0].control.roll, &one = *places[1].control.roll;
  one.publish(0, {signature_of(0), "no such thing"});
  one.call(0);
  eventually([&] { return zero.has_arrived(Rank{1}, 0); });
  EXPECT_NE(disagreement(places[0].members, zero, Rank{1}, signature_of(0)).find("no such thing"),
            std::string::npos);
}

// ---- pulse ----

TEST_P(ControlContract, ABeatIsSeenByTheOthersOnTheCommonClock) {
  const auto places = connect(2);
  const Pulse& pulse = *places[0].control.pulse;
  const ClockReading before = places[0].members.session->clock();
  places[1].control.pulse->beat();
  eventually([&] { return pulse.last_sign_ns(Rank{1}) != 0; });
  const ClockReading after = places[0].members.session->clock();
  const std::int64_t error_ns =
      std::max({before.error_ns, after.error_ns, places[1].members.session->clock().error_ns});
  EXPECT_GE(pulse.last_sign_ns(Rank{1}), before.now_ns - error_ns);
  EXPECT_LE(pulse.last_sign_ns(Rank{1}), after.now_ns + error_ns);
}

TEST_P(ControlContract, TheFirstReasonForGivingUpIsTheOneThatOthersSee) {
  const auto places = connect(2);
  Pulse &zero = *places[0].control.pulse, &one = *places[1].control.pulse;
  std::thread giving([&] {
    one.give_up(Failure::timeout, {Rank{0}, "has not arrived", 17, true});
    one.give_up(Failure::interrupted, {Rank{1}, "later", 18});
  });
  eventually([&] { return !zero.given_up().empty(); });
  giving.join();
  EXPECT_EQ(zero.given_up().front().rank, 1);
  EXPECT_EQ(zero.given_up().front().failure, Failure::timeout);
  const Cause cause = zero.given_up().front().cause;
  EXPECT_EQ(cause.text(), "rank 0 has not arrived");
  EXPECT_EQ(cause.at_ns, 17);
  EXPECT_TRUE(cause.is_absence);
  EXPECT_TRUE(one.given_up().empty());
}

TEST_P(ControlContract, AllThatHaveGivenUpAreSeenInTheirOrder) {
  const auto places = connect(3);
  places[2].control.pulse->give_up(Failure::closed, {Rank{2}, "done"});
  places[1].control.pulse->give_up(Failure::lost_rank, {Rank{0}, "lost"});
  const Pulse& zero = *places[0].control.pulse;
  eventually([&] { return zero.given_up().size() == 2; });
  EXPECT_EQ(zero.given_up()[0].rank, 1);
  EXPECT_EQ(zero.given_up()[1].rank, 2);
  EXPECT_EQ(zero.given_up()[1].failure, Failure::closed);
  eventually([&] { return !places[1].control.pulse->given_up().empty(); });
  EXPECT_EQ(places[1].control.pulse->given_up().size(), 1u);
}

/// 300 letters of two bytes each.
TEST_P(ControlContract, ALongTextIsCutBetweenLettersIfAtAll) {
  const auto places = connect(2);
  std::string text;
  for (int i = 0; i < 300; ++i) text += "é";
  places[1].control.pulse->give_up(Failure::lost_rank, {Rank{1}, text});
  eventually([&] { return !places[0].control.pulse->given_up().empty(); });
  const std::string found = places[0].control.pulse->given_up().front().cause.reason;
  EXPECT_EQ(found, text.substr(0, found.size()));
  EXPECT_EQ(found.size() % 2, 0u);
  EXPECT_GE(found.size(), 200u);
}

// ---- late register ----

TEST_P(ControlContract, AWordIsExchangedOnlyForWhatWasExpectedAndSeenByAll) {
  const auto places = connect(2);
  LateRegister &zero = *places[0].control.late, &one = *places[1].control.late;
  std::uint64_t expected = 0;
  EXPECT_TRUE(zero.compare_exchange(4, expected, 77, kNoCheck));
  expected = 5;
  EXPECT_FALSE(one.compare_exchange(4, expected, 99, kNoCheck));
  EXPECT_EQ(expected, 77u);
  EXPECT_EQ(one.load(4, kNoCheck), 77u);
  EXPECT_EQ(one.load(5, kNoCheck), 0u);
}

/// Everybody comes by one access; what it is told shows that nobody got lost, and who came when.
TEST_P(ControlContract, RanksThatComeAtOnceAreCountedOneAfterTheOther) {
  constexpr int kRanks = 4;
  auto places = connect(kRanks);
  std::array<std::atomic<int>, 50> sums{};
  on_threads(kRanks, [&](Rank self) {
    LateRegister& words = *places[static_cast<std::size_t>(self)].control.late;
    for (std::uint64_t operation = 0; operation < sums.size(); ++operation) {
      sums[operation] += LateWord(words.arrive(operation, self, kRanks, kNoCheck), operation).arrivals();
      words.await_arrivals(operation, kRanks, kNoCheck);
      EXPECT_EQ(LateWord(words.load(operation, kNoCheck), operation).arrivals(), kRanks);
    }
  });
  for (const std::atomic<int>& sum : sums) EXPECT_EQ(sum, 1 + 2 + 3 + 4);
}

/// Everybody adds its arrival; the sum shows that no exchange got lost.
TEST_P(ControlContract, ExchangesOfAllRanksFollowOneAnother) {
  constexpr int kRanks = 4;
  auto places = connect(kRanks);
  on_threads(kRanks, [&](Rank self) {
    LateRegister& words = *places[static_cast<std::size_t>(self)].control.late;
    for (std::uint64_t operation = 0; operation < 50; ++operation) {
      std::uint64_t seen = words.load(operation, kNoCheck);
      while (!words.compare_exchange(operation, seen,
                                     LateWord(seen, operation).with_arrival(self, kRanks).bits(), kNoCheck)) {
      }
      words.await_arrivals(operation, kRanks, kNoCheck);
      EXPECT_EQ(LateWord(words.load(operation, kNoCheck), operation).arrivals(), kRanks);
    }
  });
}

TEST_P(ControlContract, WhoWaitsInVainIsAskedWhetherToGoOnAndMayComeAgain) {
  const auto places = connect(3);
  LateRegister& words = *places[0].control.late;
  int asked = 0;
  const LateRegister::Check enough = [&] {
    if (++asked == 3) throw TimeoutError("enough");
  };
  EXPECT_THROW(words.await_arrivals(0, 2, enough), TimeoutError);
  std::uint64_t expected = 0;
  EXPECT_TRUE(words.compare_exchange(0, expected, LateWord(0, 0).with_arrival(Rank{0}, 3).bits(), kNoCheck));
  words.await_arrivals(0, 1, kNoCheck);
}

/// One rank's way through one operation; reducing takes no time here. Returns who was late, and after how many segments.
std::pair<int, int> take_part(LateRegister* words, std::uint64_t operation, Rank self, int rank_count) {
  constexpr int kSegments = 3;
  LateEntry entry(operation, self, rank_count, kSegments);
  while (entry.phase() != LateEntry::Phase::settled) {
    if (entry.phase() == LateEntry::Phase::waiting)
      words->await_arrivals(operation, rank_count - 1, kNoCheck);
    if (entry.phase() == LateEntry::Phase::reducing)
      entry.reduced_segment();
    else
      entry.step(words, kNoCheck);
  }
  return {entry.late(), entry.reduced()};
}

/// Ranks come after random delays. Expect that all see the same one late, and the same number of segments.
TEST_P(ControlContract, RanksAgreeOnWhoIsLateInEveryOperation) {
  for (const int ranks : {3, 5}) {
    auto places = connect(ranks);
    std::atomic<int> settled = 0;
    std::vector<std::vector<std::pair<int, int>>> seen(static_cast<std::size_t>(ranks));
    on_threads(ranks, [&](Rank self) {
      Random random(7 + static_cast<std::uint64_t>(self));
      for (int operation = 0; operation < 100; ++operation) {
        if (random.below(4) == 0) std::this_thread::sleep_for(std::chrono::microseconds(random.below(300)));
        seen[static_cast<std::size_t>(self)].push_back(
            take_part(places[static_cast<std::size_t>(self)].control.late.get(),
                      static_cast<std::uint64_t>(operation), self, ranks));
        ++settled;
        while (settled.load() < ranks * (operation + 1)) std::this_thread::yield();
      }
    });
    for (const auto& other : seen) EXPECT_EQ(other, seen.front());
    for (const auto& [late, reduced] : seen.front()) {
      EXPECT_GE(late, 0);
      EXPECT_LT(late, ranks);
    }
  }
}

// ---- figures ----

TEST_P(ControlContract, TheBestFigureOfARanksPortCountsWhoeverHasSeenIt) {
  const auto places = connect(3);
  places[0].control.figures->show(4, std::vector<float>{0.5F, 0.25F, 0});
  places[1].control.figures->show(4, std::vector<float>{1, 0, 0});
  places[2].control.figures->show(4, std::vector<float>{0, 0, 0});
  for (const ControlPlace& place : places) {
    std::vector<double> best(3);
    ASSERT_TRUE(place.control.figures->read(4, best, {}));
    EXPECT_EQ(best, (std::vector<double>{1, 0.25, 0}));
  }
}

TEST_P(ControlContract, WhereNobodyHasMeasuredNothingIsToBeRead) {
  const auto places = connect(2);
  for (const ControlPlace& place : places) place.control.figures->show(0, std::vector<float>{0, 0});
  for (const ControlPlace& place : places) {
    std::vector<double> best(2);
    EXPECT_FALSE(place.control.figures->read(0, best, {}));
  }
}

// ---- choices ----

Bytes choice_of(Rank rank, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(i * 13 + static_cast<std::size_t>(rank));
  return bytes;
}

ChoiceKey key_of(std::uint64_t number, std::uint64_t epoch = 0) {
  return {epoch, {number, number * 0x9e3779b97f4a7c15}};
}

TEST_P(ControlContract, OneRankMakesEachChoiceAndAllSeeTheSame) {
  constexpr int kRanks = 4;
  constexpr std::uint64_t kKeys = 200;
  auto places = connect(kRanks);
  std::vector<std::vector<Bytes>> seen(kRanks);
  std::atomic<int> made{0};
  on_threads(kRanks, [&](Rank self) {
    Choices& choices = *places[static_cast<std::size_t>(self)].control.choices;
    for (std::uint64_t number = 0; number < kKeys; ++number) {
      const ChoiceKey key = key_of(number);
      if (choices.claim(key)) {
        ++made;
        EXPECT_EQ(choices.look(key).state, Choices::Answer::State::claimed);
        EXPECT_EQ(choices.look(key).claimer, self);
        choices.decide(key, choice_of(self, static_cast<std::size_t>(number * number)));
      }
      Choices::Answer choice;
      while ((choice = choices.look(key)).state != Choices::Answer::State::decided) std::this_thread::yield();
      EXPECT_EQ(choice.bytes, choice_of(choice.claimer, static_cast<std::size_t>(number * number)));
      seen[static_cast<std::size_t>(self)].push_back(std::move(choice.bytes));
    }
  });
  EXPECT_EQ(made.load(), static_cast<int>(kKeys));
  for (const auto& other : seen) EXPECT_EQ(other, seen.front());
}

TEST_P(ControlContract, AChoiceMayBeMegabytes) {
  const auto places = connect(2);
  const Bytes large = choice_of(Rank{1}, std::size_t{5} << 20);
  ASSERT_TRUE(places[1].control.choices->claim(key_of(1)));
  places[1].control.choices->decide(key_of(1), large);
  eventually(
      [&] { return places[0].control.choices->look(key_of(1)).state == Choices::Answer::State::decided; });
  EXPECT_EQ(places[0].control.choices->look(key_of(1)).bytes, large);
}

/// What a rank finds whose claimer has died before it decided: whom to look for among the dead.
TEST_P(ControlContract, WhoWaitsForAChoiceLearnsWhoseItIs) {
  const auto places = connect(3);
  EXPECT_EQ(places[0].control.choices->look(key_of(7)).state, Choices::Answer::State::open);
  ASSERT_TRUE(places[2].control.choices->claim(key_of(7)));
  EXPECT_FALSE(places[0].control.choices->claim(key_of(7)));
  const Choices::Answer found = places[0].control.choices->look(key_of(7));
  EXPECT_EQ(found.state, Choices::Answer::State::claimed);
  EXPECT_EQ(found.claimer, Rank{2});
}

TEST_P(ControlContract, KeysThatShareHalfADigestAreTwo) {
  const auto places = connect(2);
  Choices &zero = *places[0].control.choices, &one = *places[1].control.choices;
  EXPECT_TRUE(zero.claim({0, {1, 5}}));
  EXPECT_TRUE(one.claim({0, {2, 5}}));
  zero.decide({0, {1, 5}}, choice_of(Rank{0}, 3));
  one.decide({0, {2, 5}}, {});
  EXPECT_EQ(one.look({0, {1, 5}}).bytes, choice_of(Rank{0}, 3));
  EXPECT_EQ(zero.look({0, {2, 5}}).state, Choices::Answer::State::decided);
  EXPECT_EQ(zero.look({0, {2, 5}}).bytes, Bytes{});
}

// Given a rank that asks about the epoch after next. Expect that choices of the one in between stay, that the old ones
// are outdated, and that what is decided for them harms nobody.
TEST_P(ControlContract, TheChoicesOfAnEpochAreForgottenTwoEpochsLater) {
  const auto places = connect(2);
  Choices &zero = *places[0].control.choices, &one = *places[1].control.choices;
  for (std::uint64_t epoch = 0; epoch < 6; ++epoch) {
    ASSERT_TRUE(zero.claim(key_of(9, epoch)));
    ASSERT_TRUE(one.claim(key_of(10, epoch)));
    zero.decide(key_of(9, epoch), choice_of(Rank{0}, 100 + epoch));
    EXPECT_EQ(one.look(key_of(9, epoch)).bytes, choice_of(Rank{0}, 100 + epoch));
    if (epoch < 2) continue;
    EXPECT_EQ(zero.look(key_of(9, epoch - 1)).state, Choices::Answer::State::decided);
    EXPECT_EQ(zero.look(key_of(9, epoch - 2)).state, Choices::Answer::State::outdated);
    EXPECT_FALSE(zero.claim(key_of(11, epoch - 2)));
    one.decide(key_of(10, epoch - 2), choice_of(Rank{1}, 50));
    EXPECT_EQ(one.look(key_of(9, epoch)).bytes, choice_of(Rank{0}, 100 + epoch));
  }
}

}  // namespace
}  // namespace hemiola::testing
