// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/local/survivors_board.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/base/hash.hpp"
#include "hemiola/runtime/session/absent_survivors.hpp"

namespace hemiola {

std::vector<Rank> SurvivorsBoard::answer(const Question& question) {
  if (question.members.back() >= kMostRanks)
    throw LostRankError("going on without lost ranks: at most " + std::to_string(kMostRanks) +
                        " ranks of one machine can");
  const std::uint64_t name = hash64(std::as_bytes(std::span(question.name))) | 1;
  Cell& cell = await_cell(question, name);
  for (Rank guest : question.guests)
    if (guest < kMostRanks) cell.note_coming(guest);
  if (question.leaves)
    cell.departing.set(question.self);
  else
    cell.note_coming(question.self);
  leave_others(number_of(cell), question.self, question.ended());
  for (Pause pause; !cell.is_sealed(); pause.wait()) {
    const std::vector<LostRank> ended = question.ended();
    std::vector<Rank> absent;
    for (Rank member : question.members)
      if (!cell.come.has(member) && !cell.departing.has(member) && !is_among(member, ended))
        absent.push_back(member);
    if (absent.empty()) {
      cell.seal();
      break;
    }
    question.deadline.check();
    if (question.deadline.passed()) throw_absent_survivors(absent, question.deadline);
  }
  const std::vector<Rank> next = cell.all();
  if (question.leaves) cell.left.set(question.self);  // it comes to no other question
  cell.read.set(question.self);
  return next;
}

std::vector<Rank> SurvivorsBoard::answer_for_guest(std::string_view name, Rank guest) {
  Cell* cell = find(hash64(std::as_bytes(std::span(name))) | 1);
  HEMIOLA_CHECK(cell != nullptr && cell->come.has(guest), "a newcomer's seat that no agreement has given");
  const std::vector<Rank> next = cell->all();
  cell->read.set(guest);
  return next;
}

std::vector<Rank> SurvivorsBoard::Cell::all() const {
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::uint64_t word = come.words[i].load();
    for (int bit = 0; bit < kRanksAWord; ++bit)
      if ((word >> bit & 1) != 0) ranks.emplace_back(static_cast<int>(i) * kRanksAWord + bit);
  }
  return ranks;
}

/// The lowest member that lives takes one, so that nobody else does at the same time; the writes of one that has ended
/// are visible by now.
SurvivorsBoard::Cell& SurvivorsBoard::await_cell(const Question& question, std::uint64_t name) {
  for (Pause pause;; pause.wait()) {
    const std::vector<LostRank> ended = question.ended();
    if (Cell* found = find(name)) return *found;
    const auto leader =
        std::ranges::find_if(question.members, [&](Rank member) { return !is_among(member, ended); });
    if (*leader == question.self) return take(name, ended);
    question.deadline.check();
    if (question.deadline.passed()) throw_absent_survivors({*leader}, question.deadline);
  }
}

SurvivorsBoard::Cell* SurvivorsBoard::find(std::uint64_t name) {
  const auto found = std::ranges::find_if(names_, [&](const auto& known) { return known.load() == name; });
  return found != names_.end() ? &cells_[static_cast<std::size_t>(found - names_.begin())] : nullptr;
}

/// A place that this rank has not left cannot be freed meanwhile. Freeing clears `read` first, so `left` is looked at
/// first here.
void SurvivorsBoard::leave_others(std::size_t number, Rank self, const std::vector<LostRank>& ended) {
  for (std::size_t i = 0; i < kCells; ++i) {
    Cell& cell = cells_[i];
    if (i == number || cell.left.has(self) || !cell.read.has(self)) continue;
    const std::uint64_t name = names_[i].load();
    cell.left.word(self).fetch_or(Bits::bit(self));
    free_if_done(i, name, cell.left, ended);
  }
}

/// Where all are taken, some may be so for ranks that ended before they had left, or that all have read and nobody asks again.
SurvivorsBoard::Cell& SurvivorsBoard::take(std::uint64_t name, const std::vector<LostRank>& ended) {
  for (std::size_t i = 0; i < kCells; ++i) {
    std::uint64_t found = kFree;
    if (names_[i].compare_exchange_strong(found, name)) return cells_[i];
  }
  for (std::size_t i = 0; i < kCells; ++i) {
    std::uint64_t found = names_[i].load();
    if (found == kFree || found == kBeingFreed) continue;
    if (free_if_done(i, found, cells_[i].left, ended) || free_if_done(i, found, cells_[i].read, ended))
      return take(name, ended);
  }
  throw LostRankError("going on without lost ranks: " + std::to_string(kCells) +
                      " communicators of this session do so at once, its limit; make fewer groups");
}

bool SurvivorsBoard::free_if_done(std::size_t number, std::uint64_t name, Bits& gone,
                                  const std::vector<LostRank>& ended) {
  Cell& cell = cells_[number];
  if (!cell.is_done(gone, ended) || !names_[number].compare_exchange_strong(name, kBeingFreed)) return false;
  for (Bits* bits : {&cell.come, &cell.departing, &cell.read, &cell.left})
    for (std::atomic<std::uint64_t>& word : bits->words) word.store(0);
  names_[number].store(kFree);
  return true;
}

/// Where the bits are sealed this changes nothing.
void SurvivorsBoard::Cell::note_coming(Rank rank) {
  std::atomic<std::uint64_t>& word = come.word(rank);
  std::uint64_t found = word.load();
  while ((found & kSeal) == 0 && !word.compare_exchange_weak(found, found | Bits::bit(rank))) {
  }
}

/// The last word's seal says that all are sealed.
void SurvivorsBoard::Cell::seal() {
  for (std::atomic<std::uint64_t>& word : come.words) word.fetch_or(kSeal);
}

bool SurvivorsBoard::Cell::is_done(Bits& gone, const std::vector<LostRank>& ended) {
  if (!is_sealed()) return false;
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::uint64_t left =
        ((come.words[i].load() & ~kSeal) | departing.words[i].load()) & ~gone.words[i].load();
    for (int bit = 0; bit < kRanksAWord; ++bit)
      if ((left >> bit & 1) != 0 && !is_among(Rank{static_cast<int>(i) * kRanksAWord + bit}, ended))
        return false;
  }
  return true;
}

}  // namespace hemiola
