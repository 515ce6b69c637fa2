// SPDX-License-Identifier: Apache-2.0
// The ranks of an all-reduce agree here on the late rank, and on the part that the others reduce without it. There is
// one shared word per operation, which every rank changes once as it comes, and in which early ranks book the segments
// they begin.
#pragma once

#include <algorithm>
#include <cstdint>

#include "hemiola/base/error.hpp"
#include "hemiola/base/index.hpp"
#include "hemiola/runtime/control/late_register.hpp"
#include "hemiola/runtime/control/late_word.hpp"

namespace hemiola {

/// One rank's way through one operation. `step` makes one access to the operation's word and does not wait for other
/// ranks, so that a test can interleave them in every order.
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
  /// From `choosing` on: the late rank, the same on all ranks.
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
  /// The word as last seen, which decides the next `step`.
  std::uint64_t last_seen() const { return raw_; }

  /// `check` as LateRegister has it.
  void step(LateRegister* words, const LateRegister::Check& check);

 private:
  bool exchange(LateRegister* words, LateWord after, const LateRegister::Check& check);
  void arrive(LateRegister* words, const LateRegister::Check& check);
  void choose(LateRegister* words, const LateRegister::Check& check);

  std::uint64_t operation_;
  Rank self_;
  int rank_count_;
  int segments_;
  Phase phase_ = Phase::arriving;
  int segment_ = 0;
  std::uint64_t raw_ = 0;  ///< the word when last seen
  LateWord seen_;          ///< the same, for this operation
};

}  // namespace hemiola
