// Where ranks that share memory agree on who goes on after a loss. Each sets its bit; once every member has or has died,
// whoever notices first seals the bits, and those that are set by then are the answer for all. Sealing sets bits, too:
// who dies in the middle of it is finished for by the next, and who comes after it learns that it is not among them.
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
  };
  /// As Session::survivors.
  std::vector<Rank> answer(const Question& question);

 private:
  static constexpr int kRanksAWord = 63;
  static constexpr std::uint64_t kSeal = std::uint64_t{1} << kRanksAWord;
  static constexpr std::size_t kWords = 64, kCells = 1024;
  struct Cell {
    std::atomic<std::uint64_t> name;  ///< 0: of no agreement yet
    std::array<std::atomic<std::uint64_t>, kWords> words;

    std::atomic<std::uint64_t>& word(Rank rank) {
      return words[static_cast<std::size_t>(rank / kRanksAWord)];
    }
    static std::uint64_t bit(Rank rank) { return std::uint64_t{1} << rank % kRanksAWord; }
    void come(Rank rank);
    bool has_come(Rank rank) { return (word(rank).load() & bit(rank)) != 0; }
    void seal();
    bool is_sealed() { return (words.back().load() & kSeal) != 0; }
  };

  Cell& cell_of(std::string_view name);

  std::array<Cell, kCells> cells_;
};

}  // namespace hemiola
