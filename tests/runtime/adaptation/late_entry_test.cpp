// SPDX-License-Identifier: Apache-2.0
// All interleavings of the protocol by which ranks agree on who is late: every reachable state of 3 and 4 ranks
// over several operations, with the real LateEntry and one access to shared memory at a time.
#include "hemiola/runtime/operation/late_entry.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <vector>

namespace hemiola {
namespace {

using Phase = LateEntry::Phase;

const LateRegister::Check kNoCheck = [] {};

/// A late register that is part of a state, with as many words as there are.
struct Words final : LateRegister {
  explicit Words(int count) : values(static_cast<std::size_t>(count)) {}

  std::uint64_t arrive(std::uint64_t operation, Rank self, int rank_count, const Check&) override {
    return word(operation) = LateWord(word(operation), operation).with_arrival(self, rank_count).bits();
  }
  std::uint64_t load(std::uint64_t operation, const Check&) override { return word(operation); }
  bool compare_exchange(std::uint64_t operation, std::uint64_t& expected, std::uint64_t desired,
                        const Check&) override {
    if (word(operation) == expected) return word(operation) = desired, true;
    expected = word(operation);
    return false;
  }
  void await_arrivals(std::uint64_t, int, const Check&) override {
    throw std::logic_error("nobody waits here: all orders of steps are tried");
  }

  std::uint64_t& word(std::uint64_t operation) { return values[operation % values.size()]; }
  std::vector<std::uint64_t> values;
};

struct Setting {
  int ranks = 3;
  int segments = 1;
  int operations = 1;
  int words = 2;
};

/// What a rank is doing: nothing (between operations), its way through one, or moving data in a finish.
struct RankState {
  int operation = -1;
  bool inside = false;
  std::optional<LateEntry> entry;
};

struct State {
  Words words;
  std::vector<RankState> ranks;
};

/// Walks through all states and notes what must never be. A rank leaves an operation when all have come to it,
/// which is the least that any all-reduce needs; a segment's reduction ends when all early ranks are in it.
class Explorer {
 public:
  explicit Explorer(const Setting& setting) : setting_(setting) {}

  void run() {
    State first{Words(setting_.words), std::vector<RankState>(static_cast<std::size_t>(setting_.ranks))};
    visit(first);
    while (!open_.empty() && faults.empty()) {
      const State state = std::move(open_.back());
      open_.pop_back();
      expand(state);
    }
  }

  std::vector<std::string> faults;
  std::size_t state_count() const { return seen_.size(); }
  std::vector<bool> reduced_seen = std::vector<bool>(64, false);
  std::vector<bool> late_seen = std::vector<bool>(8, false);

 private:
  void visit(State state) {
    if (seen_.insert(key(state)).second) open_.push_back(std::move(state));
  }

  /// Everything that decides about the future.
  std::string key(const State& state) const {
    std::string text;
    const auto add = [&](const auto& value) {
      text.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    for (const std::uint64_t word : state.words.values) add(word);
    for (const RankState& rank : state.ranks) {
      add(rank.operation);
      text += rank.inside ? 'i' : 'o';
      if (!rank.inside) continue;
      const LateEntry& entry = *rank.entry;
      add(entry.phase());
      add(entry.segment());
      add(entry.last_seen());
    }
    return text;
  }

  void expand(const State& state) {
    bool moved = false, all_done = true;
    for (int rank = 0; rank < setting_.ranks; ++rank) {
      const RankState& self = state.ranks[static_cast<std::size_t>(rank)];
      all_done &= !self.inside && self.operation == setting_.operations - 1;
      State next = state;
      if (!advance(&next, rank)) continue;
      moved = moved || key(next) != key(state);
      check(next, rank);
      visit(std::move(next));
    }
    if (!moved && !all_done) faults.push_back("deadlock: " + describe(state));
  }

  /// Lets one rank do its next thing; false where it has none.
  bool advance(State* state, int number) const {
    RankState& rank = state->ranks[static_cast<std::size_t>(number)];
    if (!rank.inside) {
      if (rank.operation == setting_.operations - 1) return false;
      rank.inside = true;
      ++rank.operation;
      rank.entry.emplace(static_cast<std::uint64_t>(rank.operation), Rank{number}, setting_.ranks,
                         setting_.segments);
      return true;
    }
    LateEntry& entry = *rank.entry;
    if (entry.phase() == Phase::reducing) {
      if (!others_are_in_segment(*state, rank)) return false;
      entry.reduced_segment();
      return true;
    }
    if (entry.phase() == Phase::settled) {
      if (!others_have_come(*state, rank)) return false;
      rank.inside = false;
      return true;
    }
    entry.step(&state->words, kNoCheck);
    return true;
  }

  bool others_are_in_segment(const State& state, const RankState& self) const {
    for (int number = 0; number < setting_.ranks; ++number) {
      if (number == self.entry->late()) continue;
      const RankState& other = state.ranks[static_cast<std::size_t>(number)];
      if (other.operation > self.operation) continue;
      if (other.operation < self.operation) return false;
      if (!other.inside) continue;
      const LateEntry& entry = *other.entry;
      const bool is_there = entry.segment() > self.entry->segment() ||
                            (entry.segment() == self.entry->segment() && entry.phase() == Phase::reducing);
      if (!is_there) return false;
    }
    return true;
  }

  bool others_have_come(const State& state, const RankState& self) const {
    for (const RankState& other : state.ranks)
      if (other.operation < self.operation ||
          (other.operation == self.operation && other.inside && other.entry->phase() == Phase::arriving))
        return false;
    return true;
  }

  /// Whoever knows who is late, or how much is reduced, must know the same.
  void check(const State& state, int number) {
    const RankState& self = state.ranks[static_cast<std::size_t>(number)];
    if (!self.inside || self.entry->phase() < Phase::choosing) return;
    const Rank late = self.entry->late();
    if (late < 0 || late >= setting_.ranks) return faults.push_back("no such rank: " + describe(state));
    late_seen[static_cast<std::size_t>(late)] = true;
    if (self.entry->phase() == Phase::settled)
      reduced_seen[static_cast<std::size_t>(self.entry->reduced())] = true;
    for (const RankState& other : state.ranks) {
      if (!other.inside || other.operation != self.operation || other.entry->phase() < Phase::choosing)
        continue;
      if (other.entry->late() != late) faults.push_back("two late ranks: " + describe(state));
      if (other.entry->phase() == Phase::settled && self.entry->phase() == Phase::settled &&
          other.entry->reduced() != self.entry->reduced())
        faults.push_back("two counts of segments: " + describe(state));
    }
    if (number == late && (self.entry->phase() != Phase::settled || self.entry->segment() != 0))
      faults.push_back("the late rank reduces: " + describe(state));
  }

  std::string describe(const State& state) const {
    std::string text;
    for (const RankState& rank : state.ranks) {
      text += " [operation " + std::to_string(rank.operation);
      if (rank.inside)
        text += ", phase " + std::to_string(static_cast<int>(rank.entry->phase())) + ", segment " +
                std::to_string(rank.entry->segment());
      text += "]";
    }
    return text;
  }

  const Setting setting_;
  std::vector<State> open_;
  std::unordered_set<std::string> seen_;
};

void expect_agreement(const Setting& setting) {
  Explorer explorer(setting);
  explorer.run();
  EXPECT_EQ(explorer.faults, std::vector<std::string>{});
  for (int rank = 0; rank < setting.ranks; ++rank)
    EXPECT_TRUE(explorer.late_seen[static_cast<std::size_t>(rank)]) << "rank " << rank << " was never late";
  for (int reduced = 0; reduced <= setting.segments; ++reduced)
    EXPECT_TRUE(explorer.reduced_seen[static_cast<std::size_t>(reduced)]) << reduced << " segments never";
  ::testing::Test::RecordProperty("states", static_cast<int>(explorer.state_count()));
}

TEST(LateEntry, ThreeRanksAgreeInEveryInterleavingOfFourOperations) {
  expect_agreement({.ranks = 3, .segments = 2, .operations = 4});
}

TEST(LateEntry, FourRanksAgreeInEveryInterleavingOfThreeOperations) {
  expect_agreement({.ranks = 4, .segments = 1, .operations = 3});
}

TEST(LateEntry, FourRanksAgreeInEveryInterleavingOfTwoOperationsWithThreeSegments) {
  expect_agreement({.ranks = 4, .segments = 3, .operations = 2});
}

/// The explorer sees faults where there are some: with one word for all operations, a rank that looks too late
/// finds the word of the next operation.
TEST(LateEntry, OneWordForAllOperationsIsFoundToBeTooFew) {
  Explorer explorer({.ranks = 3, .segments = 1, .operations = 3, .words = 1});
  explorer.run();
  EXPECT_FALSE(explorer.faults.empty());
}

TEST(LateWord, NamesTheMissingRankFromTheFirstArrivalsOn) {
  // Given 5 ranks of which 4, 0, 3, 1 come first. Derivation: 4^0^3^1 = 6, and 0^1^2^3^4 = 4; 6^4 = 2. Expect rank 2.
  Words words(2);
  LateEntry first(7, Rank{4}, 5, 1);
  while (first.phase() == Phase::arriving) first.step(&words, kNoCheck);
  EXPECT_EQ(first.phase(), Phase::waiting);
  std::vector<LateEntry> others;
  for (int rank : {0, 3, 1}) {
    others.emplace_back(7, Rank{rank}, 5, 1);
    while (others.back().phase() == Phase::arriving) others.back().step(&words, kNoCheck);
  }
  EXPECT_EQ(others.back().phase(), Phase::choosing);
  first.step(&words, kNoCheck);
  EXPECT_EQ(first.late(), Rank{2});
  EXPECT_EQ(others.back().late(), Rank{2});
  LateEntry last(7, Rank{2}, 5, 1);
  while (last.phase() == Phase::arriving) last.step(&words, kNoCheck);
  EXPECT_EQ(last.phase(), Phase::settled);
  EXPECT_EQ(last.late(), Rank{2});
  EXPECT_EQ(last.reduced(), 0);
}

TEST(LateWord, HoldsTheLargestCounts) {
  LateWord word(0, (std::uint64_t{1} << 37) - 2);
  for (int rank = 0; rank < LateWord::kMaxRanks; ++rank)
    word = word.with_arrival(Rank{rank}, LateWord::kMaxRanks);
  for (int segment = 0; segment < LateWord::kMaxSegments; ++segment) word = word.with_segment();
  EXPECT_EQ(word.arrivals(), LateWord::kMaxRanks);
  EXPECT_EQ(word.begun(), LateWord::kMaxSegments);
  EXPECT_EQ(word.numbers(), 1023);  // 0^1^…^1023 = 0, and 1023 was not counted in
}

TEST(LateWord, OfAnotherOperationIsEmpty) {
  const LateWord word = LateWord(0, 3).with_arrival(Rank{2}, 4).with_segment();
  EXPECT_EQ(LateWord(word.bits(), 3), word);
  const LateWord next(word.bits(), 5);
  EXPECT_EQ(next.arrivals(), 0);
  EXPECT_EQ(next.begun(), 0);
  EXPECT_EQ(next.numbers(), 0);
}

}  // namespace
}  // namespace hemiola
