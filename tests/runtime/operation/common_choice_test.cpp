// SPDX-License-Identifier: Apache-2.0
// Who chooses for all.
#include "hemiola/runtime/operation/common_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "contracts/on_threads.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/lost_member.hpp"
#include "in_process/in_process_control.hpp"
#include "in_process/in_process_session.hpp"

namespace hemiola {
namespace {

constexpr double kForever_s = 60;

Bytes word(Rank rank) {
  return {std::byte{static_cast<std::uint8_t>(rank)}};
}

/// Ranks in threads that answer with their own number, and write down who answered.
class CommonChoiceTest : public ::testing::Test {
 protected:
  void ask(int rank_count, double advance_s,
           const std::function<void(Rank, CommonChoice&, const Chooser&)>& what) {
    const auto sessions = testing::InProcessSession::make(rank_count);
    const testing::InProcessControl kind;
    testing::on_threads(rank_count, [&](Rank rank) {
      const Members members{sessions[static_cast<std::size_t>(rank)], testing::all_ranks(rank_count), rank};
      const Control control = kind.connect(members, Deadline(kForever_s));
      CommonChoice choice(&members, &control, advance_s);
      what(rank, choice, {[rank](const Question&) { return word(rank); }, nullptr});
    });
  }

  /// What each rank that asks is told when it gives up after so long, while rank 0 chooses until all of these have; the
  /// other ranks do not come.
  std::map<Rank, std::string> told_while_rank_0_chooses(int rank_count, const std::vector<Rank>& asking,
                                                        double timeout_s) {
    std::atomic<bool> is_choosing = false;
    std::atomic<std::size_t> given_up = 0;
    std::vector<std::string> told(static_cast<std::size_t>(rank_count), "nothing");
    ask(rank_count, 0, [&](Rank rank, CommonChoice& choice, const Chooser&) {
      const auto choose = [&](const Question&) {
        is_choosing = true;
        while (given_up < asking.size()) std::this_thread::yield();
        return word(Rank{0});
      };
      if (rank == 0) choice.recipe(of_size(100), {choose, nullptr}, kForever_s, {});
      if (std::ranges::find(asking, rank) == asking.end()) return;
      while (!is_choosing) std::this_thread::yield();
      try {
        choice.recipe(of_size(100), {choose, nullptr}, timeout_s, {});
      } catch (const TimeoutError& e) {
        told[static_cast<std::size_t>(rank)] = e.what();
      }
      given_up += 1;
    });
    std::map<Rank, std::string> by_rank;
    for (Rank rank : asking) by_rank[rank] = told[static_cast<std::size_t>(rank)];
    return by_rank;
  }

  static Question of_size(std::int64_t bytes) { return {CollectiveKind::all_reduce, bytes, Rank{0}, ""}; }
};

TEST_F(CommonChoiceTest, TheFirstToAskChoosesForAll) {
  std::atomic<bool> chosen = false;
  ask(3, 0, [&](Rank rank, CommonChoice& choice, const Chooser& chooser) {
    while (rank != 1 && !chosen) std::this_thread::yield();
    EXPECT_EQ(choice.recipe(of_size(100), chooser, kForever_s, {}), word(Rank{1}));
    chosen = true;
  });
}

// Given a start of a minute for whoever has chosen last, which comes to the next question after the others. Expect that
// it chooses, and that the others have its answer without waiting out that minute.
TEST_F(CommonChoiceTest, WhoeverChoseLastGoesFirst) {
  std::atomic<int> asked = 0;
  std::atomic<bool> chosen = false;
  const Deadline soon(kForever_s / 2);
  ask(3, kForever_s, [&](Rank rank, CommonChoice& choice, const Chooser& chooser) {
    while (rank != 1 && !chosen) std::this_thread::yield();
    choice.recipe(of_size(100), chooser, kForever_s, {});
    chosen = true;
    while (rank == 1 && asked < 2) std::this_thread::yield();
    asked += 1;
    EXPECT_EQ(choice.recipe(of_size(1000), chooser, kForever_s, {}), word(Rank{1}));
  });
  EXPECT_FALSE(soon.passed());
}

// Given that whoever chose last does not come to the next question. Expect that another chooses.
TEST_F(CommonChoiceTest, NobodyWaitsForWhoeverChoseLast) {
  std::atomic<bool> chosen = false;
  std::atomic<int> left = 2;
  ask(3, 0.001, [&](Rank rank, CommonChoice& choice, const Chooser& chooser) {
    while (rank != 1 && !chosen) std::this_thread::yield();
    choice.recipe(of_size(100), chooser, kForever_s, {});
    chosen = true;
    while (rank == 1 && left > 0) std::this_thread::yield();
    EXPECT_NE(choice.recipe(of_size(1000), chooser, kForever_s, {}), word(Rank{1}));
    left -= 1;
  });
}

// Given a rank that chooses for longer than another waits, and one that does not come to the call at all. Expect that both
// are named: the second would be missing however fast the first chose.
TEST_F(CommonChoiceTest, WhoeverHasNotComeIsNamedBesideWhoeverIsSlowToChoose) {
  const std::string told = told_while_rank_0_chooses(3, {Rank{1}}, 0.2).at(Rank{1});
  EXPECT_NE(told.find("rank 0"), std::string::npos) << told;
  EXPECT_NE(told.find("rank 2"), std::string::npos) << told;
}

// The same with all ranks there. Expect that those who wait do not blame each other.
TEST_F(CommonChoiceTest, WhoeverWaitsForTheChoiceIsNotMissing) {
  for (const auto& [rank, told] : told_while_rank_0_chooses(3, {Rank{1}, Rank{2}}, 1)) {
    EXPECT_NE(told.find("rank 0"), std::string::npos) << told;
    EXPECT_EQ(told.find(rank == 1 ? "rank 2" : "rank 1"), std::string::npos) << told;
  }
}

/// Rank 1 has answered already, with so many bytes.
class Answered final : public Choices {
 public:
  explicit Answered(Bytes bytes) : bytes_(std::move(bytes)) {}
  bool claim(const ChoiceKey&) override { return false; }
  void decide(const ChoiceKey&, std::span<const std::byte>) override {}
  Answer look(const ChoiceKey&) const override { return {Answer::State::decided, Rank{1}, bytes_}; }

 private:
  Bytes bytes_;
};

// Given answers that are empty, or of a kind that there is not. Expect that their sender is named.
TEST_F(CommonChoiceTest, AnAnswerThatNoRankGivesNamesItsSender) {
  const auto sessions = testing::InProcessSession::make(2);
  testing::on_threads(2, [&](Rank rank) {
    const Members members{sessions[static_cast<std::size_t>(rank)], testing::all_ranks(2), rank};
    Control control = testing::InProcessControl().connect(members, Deadline(kForever_s));
    for (const Bytes& odd : {Bytes(), Bytes(1, std::byte{2}), Bytes(100, std::byte{0xff})}) {
      control.choices = std::make_unique<Answered>(odd);
      CommonChoice choice(&members, &control, 0);
      try {
        choice.recipe(of_size(100), {}, kForever_s, {});
        ADD_FAILURE() << odd.size() << " bytes are believed";
      } catch (const BadMessageError& e) {
        EXPECT_EQ(e.cause.rank, Rank{1});
      }
    }
  });
}

}  // namespace
}  // namespace hemiola
