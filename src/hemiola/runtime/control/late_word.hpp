// SPDX-License-Identifier: Apache-2.0
// The word by which ranks agree on the late rank, as a value.
#pragma once

#include <cstdint>

#include "hemiola/base/index.hpp"

namespace hemiola {

/// The shared word, as a value: the ranks that have come to an operation, and the number of segments that the early
/// ranks have begun.
///
///   operation (37 bits) | segments begun (6) | arrivals (11) | numbers of the first n-1 to come, by exclusive or (10)
///
/// The last rank to come changes only the count. So a reader of n-1 or n arrivals finds the same rank missing, and n
/// arrivals freeze the number of segments. A word of another operation stands for an empty one of this, so nobody
/// resets anything.
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

}  // namespace hemiola
