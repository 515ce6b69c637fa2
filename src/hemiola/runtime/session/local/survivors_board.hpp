// SPDX-License-Identifier: Apache-2.0
// Ranks that share memory agree here on the survivors of a loss. Each sets its bit. Once every member has set it or has
// died, the first rank that notices seals the bits. The bits that are set by then are the answer for all. Sealing sets
// bits, too: if a rank dies in the middle of it, the next one finishes it. A rank that comes later learns that it is
// not among the survivors. A rank that leaves says so instead of setting its bit. Members set the bits of newcomers
// that they let in. A rank may ask again, so a place on the board is free once all that it concerns have read the
// answer and come to another question, or ended.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "hemiola/base/deadline.hpp"
#include "hemiola/runtime/session/session.hpp"

namespace hemiola {

/// Lies in shared memory; zero-filled is its initial state.
class SurvivorsBoard {
 public:
  struct Question {
    const std::vector<Rank>& members;
    Rank self;
    std::string_view name;
    const Deadline& deadline;
    std::function<std::vector<LostRank>()> ended;
    bool leaves = false;
    std::vector<Rank> guests = {};  ///< newcomers that this rank would let in
  };
  /// As Session::next_members.
  std::vector<Rank> answer(const Question& question);
  /// The answer that has let this newcomer in; it takes notice of it once.
  std::vector<Rank> answer_for_guest(std::string_view name, Rank guest);

  /// Higher numbers have no bit.
  static constexpr int kMostRanks = 4032;

 private:
  static constexpr int kRanksAWord = 63;
  static constexpr std::uint64_t kSeal = std::uint64_t{1} << kRanksAWord;
  static constexpr std::size_t kWords = kMostRanks / kRanksAWord, kCells = 1024;
  /// Instead of names, which are odd.
  static constexpr std::uint64_t kFree = 0, kBeingFreed = 2;

  struct Bits {
    std::array<std::atomic<std::uint64_t>, kWords> words;

    std::atomic<std::uint64_t>& word(Rank rank) {
      return words[static_cast<std::size_t>(rank / kRanksAWord)];
    }
    static std::uint64_t bit(Rank rank) { return std::uint64_t{1} << rank % kRanksAWord; }
    bool has(Rank rank) { return (word(rank).load() & bit(rank)) != 0; }
    void set(Rank rank) { word(rank).fetch_or(bit(rank)); }
  };
  struct Cell {
    Bits come, departing, read, left;

    void note_coming(Rank rank);
    std::vector<Rank> all() const;
    void seal();
    bool is_sealed() { return (come.words.back().load() & kSeal) != 0; }
    /// Whether all that have come, or leave, are in `gone` or have ended.
    bool is_done(Bits& gone, const std::vector<LostRank>& ended);
  };

  Cell& await_cell(const Question& question, std::uint64_t name);
  Cell* find(std::uint64_t name);
  Cell& take(std::uint64_t name, const std::vector<LostRank>& ended);
  void leave_others(std::size_t number, Rank self, const std::vector<LostRank>& ended);
  bool free_if_done(std::size_t number, std::uint64_t name, Bits& gone, const std::vector<LostRank>& ended);
  std::size_t number_of(const Cell& cell) const { return static_cast<std::size_t>(&cell - cells_.data()); }

  std::array<std::atomic<std::uint64_t>, kCells> names_;
  std::array<Cell, kCells> cells_;
};

}  // namespace hemiola
