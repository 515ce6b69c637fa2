// How the ranks of an all-reduce agree on who is late and on how much the others reduce without it: one shared word per
// operation, which every rank changes once as it comes, and in which early ranks book the segments they begin.
#pragma once

#include <algorithm>
#include <cstdint>

#include "hemiola/base/error.hpp"
#include "hemiola/base/index.hpp"

namespace hemiola {

/// The shared word, as a value: who has come to an operation, and how many segments the early ranks have begun.
///
///   operation (37 bits) | segments begun (6) | arrivals (11) | numbers of the first n-1 to come, by exclusive or (10)
///
/// The last rank to come changes only the count: so whoever reads n-1 or n arrivals finds the same rank missing,
/// and n arrivals freeze the number of segments. A word of another operation stands for an empty one of this, so
/// nobody resets anything.
class LateWord {
 public:
  static constexpr int kMaxRanks = 1024;
  static constexpr int kMaxSegments = 63;

  constexpr LateWord() = default;
  constexpr LateWord(std::uint64_t bits, std::uint64_t operation)
      : bits_((bits ^ stamp(operation)) >> kOperationAt == 0 ? bits : stamp(operation)) {}

  constexpr std::uint64_t bits() const { return bits_; }
  constexpr int arrivals() const { return field(kArrivalsAt, kArrivalsBits); }
  constexpr int begun() const { return field(kBegunAt, kBegunBits); }
  constexpr int numbers() const { return field(0, kNumberBits); }

  constexpr LateWord with_arrival(Rank rank, int rank_count) const {
    LateWord next = *this;
    next.bits_ += std::uint64_t{1} << kArrivalsAt;
    if (arrivals() < rank_count - 1) next.bits_ ^= static_cast<std::uint64_t>(static_cast<int>(rank));
    return next;
  }
  constexpr LateWord with_segment() const {
    LateWord next = *this;
    next.bits_ += std::uint64_t{1} << kBegunAt;
    return next;
  }

  friend constexpr bool operator==(LateWord, LateWord) = default;

 private:
  static constexpr int kNumberBits = 10, kArrivalsBits = 11, kBegunBits = 6;
  static constexpr int kArrivalsAt = kNumberBits, kBegunAt = kArrivalsAt + kArrivalsBits;
  static constexpr int kOperationAt = kBegunAt + kBegunBits;

  /// Operations start at 1 here, so that memory full of zeros is of none.
  static constexpr std::uint64_t stamp(std::uint64_t operation) { return (operation + 1) << kOperationAt; }
  constexpr int field(int at, int bits) const {
    return static_cast<int>(bits_ >> at & ((std::uint64_t{1} << bits) - 1));
  }

  std::uint64_t bits_ = 0;
};

/// One rank's way through one operation. `step` makes one access to the shared word and never waits, so that a test can
/// interleave ranks in every order. A `Cell` has std::atomic's load() and compare_exchange_strong(expected, desired).
///
///   arriving ──► waiting (until n-1 have come) ──► choosing ⇄ reducing (a segment)
///        └── the last one ───────────────────────────► settled ◄──┘
class LateEntry {
 public:
  enum class Phase : std::uint8_t { arriving, waiting, choosing, reducing, settled };

  LateEntry(std::uint64_t operation, Rank self, int rank_count, int segments)
      : operation_(operation), self_(self), rank_count_(rank_count), segments_(segments) {
    HEMIOLA_CHECK(rank_count >= 3 && rank_count <= LateWord::kMaxRanks, "rank count of a late all-reduce");
    HEMIOLA_CHECK(segments >= 1 && segments <= LateWord::kMaxSegments, "segments of a late all-reduce");
  }

  Phase phase() const { return phase_; }
  /// From `choosing` on: who is late, the same on all ranks.
  Rank late() const {
    int number = 0;
    for (int rank = 0; rank < rank_count_; ++rank) number ^= rank;
    return Rank{number ^ seen_.numbers()};
  }
  /// In `reducing`: which segment the early ranks are to reduce among themselves. Say `reduced_segment` when that
  /// is done.
  int segment() const { return segment_; }
  void reduced_segment() {
    ++segment_;
    phase_ = segment_ == segments_ ? Phase::settled : Phase::choosing;
  }
  /// Once `settled`: how many segments the early ranks have reduced, the same on all ranks.
  int reduced() const { return std::max(seen_.begun(), segment_); }
  /// The word as last seen, which decides what `step` does next.
  std::uint64_t last_seen() const { return raw_; }

  template <typename Cell>
  void step(Cell& cell) {
    switch (phase_) {
      case Phase::arriving:
        return arrive(cell);
      case Phase::waiting:
        look(cell);
        if (seen_.arrivals() >= rank_count_ - 1) phase_ = Phase::choosing;
        return;
      case Phase::choosing:
        return choose(cell);
      case Phase::reducing:
      case Phase::settled:
        return;
    }
  }

 private:
  template <typename Cell>
  void look(Cell& cell) {
    raw_ = cell.load();
    seen_ = LateWord(raw_, operation_);
  }

  /// True when the word was `before` and is now `after`; otherwise what it was has been seen.
  template <typename Cell>
  bool exchange(Cell& cell, LateWord after) {
    std::uint64_t expected = raw_;
    if (cell.compare_exchange_strong(expected, after.bits())) {
      seen_ = after;
      raw_ = after.bits();
      return true;
    }
    raw_ = expected;
    seen_ = LateWord(expected, operation_);
    return false;
  }

  template <typename Cell>
  void arrive(Cell& cell) {
    if (!exchange(cell, LateWord(raw_, operation_).with_arrival(self_, rank_count_))) return;
    if (seen_.arrivals() == rank_count_)
      phase_ = Phase::settled;
    else
      phase_ = seen_.arrivals() == rank_count_ - 1 ? Phase::choosing : Phase::waiting;
  }

  /// Segments are begun in order, by whoever comes to them first; once the late rank is there, no more.
  template <typename Cell>
  void choose(Cell& cell) {
    if (seen_.begun() > segment_)
      phase_ = Phase::reducing;
    else if (seen_.arrivals() == rank_count_)
      phase_ = Phase::settled;
    else if (exchange(cell, seen_.with_segment()))
      phase_ = Phase::reducing;
  }

  std::uint64_t operation_;
  Rank self_;
  int rank_count_;
  int segments_;
  Phase phase_ = Phase::arriving;
  int segment_ = 0;
  std::uint64_t raw_ = 0;  ///< what the word was when last seen
  LateWord seen_;          ///< the same, for this operation
};

}  // namespace hemiola
