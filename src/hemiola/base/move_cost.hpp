// SPDX-License-Identifier: Apache-2.0
// The cost of moving a byte to a core, learnt from the moves that it makes anyway. The best copy method
// depends on the processor, and on one machine on the cores that its ranks happen to run on: stores to lines
// that another core has read cost 0.1 or 0.5 ns a byte there, from one minute to the next.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hemiola/base/bulk_copy.hpp"
#include "hemiola/base/plain_copy.hpp"
#include "hemiola/base/ticks.hpp"

namespace hemiola {

/// The times of the latest moves of one kind, in ticks per byte.
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
    // At least one tick: a counter may be slower than a move, and 0 says that nothing is known.
    const float cost = static_cast<float>(std::max<std::uint64_t>(taken, 1)) / static_cast<float>(bytes);
    if (per_byte_ == 0)
      per_byte_ = cost;
    else
      per_byte_ += (cost < per_byte_ ? kWeightOfLess : kWeightOfMore) *
                   (std::min(cost, kMost * per_byte_) - per_byte_);
  }

 private:
  static constexpr float kWeightOfLess = 0.75f;
  static constexpr float kWeightOfMore = 0.125f;
  /// A move that takes longer than so many times the usual time was interrupted.
  static constexpr float kMost = 4;

  float per_byte_ = 0;
};

/// Now and then a choice goes against the known costs, so that they stay true. That is often at first, when a
/// move may have met memory that nobody had touched before. Later it is twice in a row in 256 times, as the
/// first may meet cold caches.
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

/// Moves of about one size, by powers of two from 64 KiB on: a byte's cost depends on the caches that they
/// fit into.
inline constexpr std::size_t kSizeClasses = 12;
inline std::size_t size_class(std::size_t bytes) {
  constexpr std::size_t first = 32 << 10;
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes / first)), 1, kSizeClasses) -
         1;
}

/// Chooses the way that costs least, but for trials of the others.
class WayChooser {
 public:
  /// `costs`: of each way, in ticks per byte; 0: not known yet. Such ways come first, the last of them before others.
  std::size_t choose(std::span<const float> costs) {
    for (std::size_t way = costs.size(); way-- > 0;)
      if (costs[way] == 0) return way;
    const auto cheapest = static_cast<std::size_t>(std::ranges::min_element(costs) - costs.begin());
    if (!trials_.next() || costs.size() == 1) return cheapest;
    // Each of the other methods has two trials in turn, including the cheapest ones; a choice may have fewer
    // methods than the one before.
    if (trial_count_++ % 2 == 0 || tried_ >= costs.size()) {
      tried_ = (tried_ + 1) % costs.size();
      if (tried_ == cheapest) tried_ = (tried_ + 1) % costs.size();
    }
    return tried_;
  }

 private:
  Trials trials_;
  std::uint32_t trial_count_ = 0;
  std::size_t tried_ = 0;  // the way of the latest trial
};

/// Copies in the one of several ways that costs least, as far as it has learnt.
template <const auto& kWays>
class LearntCopier {
 public:
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes < MoveCost::kLeastBytes) return kWays[0](to, from, bytes);
    std::array<float, kWays.size()> known;
    std::ranges::transform(costs_, known.begin(), &MoveCost::per_byte);
    const std::size_t way = chooser_.choose(known);
    costs_[way].measure(bytes, [=] { kWays[way](to, from, bytes); });
  }

 private:
  std::array<MoveCost, kWays.size()> costs_;
  WayChooser chooser_;
};

using CopyFunction = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);

/// To the memory where this core goes on with them, from memory of its own or from a ring that another core
/// has written. Which is best depends on the processor and on how far away the lines of both are.
inline constexpr std::array<CopyFunction, 3> kWaysToStay{plain_copy, bulk_copy, copy_in_quarters};
using StayingCopier = LearntCopier<kWaysToStay>;

/// One for each size class.
class SizedCopier {
 public:
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) { copy(to, from, bytes, bytes); }
  /// A piece of a move of `whole` bytes.
  void copy(std::byte* to, const std::byte* from, std::size_t bytes, std::size_t whole) {
    copiers_[size_class(whole)].copy(to, from, bytes);
  }

 private:
  std::array<StayingCopier, kSizeClasses> copiers_;
};

}  // namespace hemiola
