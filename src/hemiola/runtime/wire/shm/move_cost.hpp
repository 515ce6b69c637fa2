// What moving a byte costs a core, learnt from the moves that it makes anyway. Which way is the best depends on the
// processor, and on one machine on where its ranks happen to run: stores to lines that another core has read cost 0.1 or 0.5 ns
// a byte there, from one minute to the next.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hemiola/base/bulk_copy.hpp"
#include "hemiola/base/ticks.hpp"

namespace hemiola {

/// Of moves of one kind, in ticks per byte: what the latest ones took.
class MoveCost {
 public:
  /// 0: not known yet.
  float per_byte() const { return per_byte_; }

  /// Shorter moves tell nothing: stores end in the core's queue before they cost anything.
  static constexpr std::size_t kLeastBytes = 4 << 10;

  /// Does the move, and takes its time where that tells something.
  template <typename Move>
  void measure(std::size_t bytes, Move move) {
    if (bytes < kLeastBytes) return move();
    const std::uint64_t begin = ticks();
    move();
    note(ticks() - begin, bytes);
  }
  void note(std::uint64_t taken, std::size_t bytes) {
    const float cost = static_cast<float>(taken) / static_cast<float>(bytes);
    if (per_byte_ == 0)
      per_byte_ = cost;
    else
      per_byte_ += (cost < per_byte_ ? kWeightOfLess : kWeightOfMore) *
                   (std::min(cost, kMost * per_byte_) - per_byte_);
  }

 private:
  static constexpr float kWeightOfLess = 0.75f;
  static constexpr float kWeightOfMore = 0.125f;
  /// A move that takes longer than so many times what was usual was interrupted.
  static constexpr float kMost = 4;

  float per_byte_ = 0;
};

/// Now and then a choice goes against what is known, so that it stays true: often at first, when a move may have met memory
/// that nobody had touched before, then twice in a row in 256 times: the first may meet cold caches.
class Trials {
 public:
  /// Whether this choice is a trial.
  bool next() {
    ++choices_;
    return choices_ < kApart ? std::has_single_bit(choices_) : choices_ % kApart < 2;
  }

 private:
  static constexpr std::uint32_t kApart = 256;
  std::uint32_t choices_ = 0;
};

/// Copies into a ring that another core reads, in the way that costs less: through the caches, from which each line must
/// first be taken from the reader's, or past them.
class RingCopier {
 public:
  /// `to` is the beginning of a line.
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (kCanBypass && bytes >= MoveCost::kLeastBytes && goes_past())
      past_.measure(bytes, [=] { bypassing_copy(to, from, bytes); });
    else
      through_.measure(bytes, [=] { std::memcpy(to, from, bytes); });
  }
  /// Ticks per byte; 0: not known yet.
  float cost() const {
    const bool knows_both = through_.per_byte() > 0 && past_.per_byte() > 0;
    return knows_both ? std::min(through_.per_byte(), past_.per_byte())
                      : std::max(through_.per_byte(), past_.per_byte());
  }

 private:
  bool goes_past() {
    const bool is_better = through_.per_byte() > past_.per_byte();
    return trials_.next() != is_better;
  }

  MoveCost through_, past_;
  Trials trials_;
};

}  // namespace hemiola
