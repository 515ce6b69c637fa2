#include "hemiola/runtime/session/local/survivors_board.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/base/hash.hpp"
#include "hemiola/runtime/session/absent_survivors.hpp"

namespace hemiola {

std::vector<Rank> SurvivorsBoard::answer(const Question& question) {
  if (question.members.back() >= static_cast<int>(kWords) * kRanksAWord)
    throw LostRankError("going on without lost ranks: at most " + std::to_string(kWords * kRanksAWord) +
                        " ranks of one machine can");
  Cell& cell = cell_of(question.name);
  cell.come(question.self);
  for (Pause pause; !cell.is_sealed(); pause.wait()) {
    const std::vector<LostRank> ended = question.ended();
    std::vector<Rank> absent;
    for (Rank member : question.members)
      if (!cell.has_come(member) && std::ranges::find(ended, member, &LostRank::rank) == ended.end())
        absent.push_back(member);
    if (absent.empty()) {
      cell.seal();
      break;
    }
    question.deadline.check();
    if (question.deadline.passed()) throw_absent_survivors(absent, question.deadline);
  }
  std::vector<Rank> survivors;
  for (Rank member : question.members)
    if (cell.has_come(member)) survivors.push_back(member);
  return survivors;
}

/// Cells are never given back, so the first free one that two ranks find on their way from the same place is the same.
SurvivorsBoard::Cell& SurvivorsBoard::cell_of(std::string_view name) {
  const std::uint64_t hash = hash64(std::as_bytes(std::span(name))) | 1;
  for (std::size_t i = 0; i < kCells; ++i) {
    Cell& cell = cells_[(hash / 2 + i) % kCells];
    std::uint64_t found = 0;
    if (cell.name.compare_exchange_strong(found, hash) || found == hash) return cell;
  }
  throw LostRankError("going on without lost ranks: this session has done so " + std::to_string(kCells) +
                      " times, its limit; start the job anew");
}

/// Where the bits are sealed this changes nothing.
void SurvivorsBoard::Cell::come(Rank rank) {
  std::uint64_t found = word(rank).load();
  while ((found & kSeal) == 0 && !word(rank).compare_exchange_weak(found, found | bit(rank))) {
  }
}

/// The last word's seal says that all are sealed.
void SurvivorsBoard::Cell::seal() {
  for (std::atomic<std::uint64_t>& word : words) word.fetch_or(kSeal);
}

}  // namespace hemiola
