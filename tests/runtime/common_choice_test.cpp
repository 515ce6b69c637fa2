// Who chooses for all.
#include "hemiola/runtime/operation/common_choice.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "contracts/on_threads.hpp"
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

  static Question of_size(std::int64_t bytes) { return {CollectiveKind::all_reduce, bytes, Rank{0}, "", {}}; }
};

TEST_F(CommonChoiceTest, TheFirstToAskChoosesForAll) {
  std::atomic<bool> chosen = false;
  ask(3, 0, [&](Rank rank, CommonChoice& choice, const Chooser& chooser) {
    while (rank != 1 && !chosen) std::this_thread::yield();
    EXPECT_EQ(choice.recipe(of_size(100), 0, chooser, kForever_s, {}), word(Rank{1}));
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
    choice.recipe(of_size(100), 0, chooser, kForever_s, {});
    chosen = true;
    while (rank == 1 && asked < 2) std::this_thread::yield();
    asked += 1;
    EXPECT_EQ(choice.recipe(of_size(1000), 0, chooser, kForever_s, {}), word(Rank{1}));
  });
  EXPECT_FALSE(soon.passed());
}

// Given that whoever chose last does not come to the next question. Expect that another chooses.
TEST_F(CommonChoiceTest, NobodyWaitsForWhoeverChoseLast) {
  std::atomic<bool> chosen = false;
  std::atomic<int> left = 2;
  ask(3, 0.001, [&](Rank rank, CommonChoice& choice, const Chooser& chooser) {
    while (rank != 1 && !chosen) std::this_thread::yield();
    choice.recipe(of_size(100), 0, chooser, kForever_s, {});
    chosen = true;
    while (rank == 1 && left > 0) std::this_thread::yield();
    EXPECT_NE(choice.recipe(of_size(1000), 0, chooser, kForever_s, {}), word(Rank{1}));
    left -= 1;
  });
}

}  // namespace
}  // namespace hemiola
