// SPDX-License-Identifier: Apache-2.0
// Arithmetic on the binary digits of rank numbers, for the algorithms with a logarithmic number of rounds.
#pragma once

#include <bit>
#include <cstdint>

namespace hemiola::algorithms {

/// Rounds of doubling until one rank's data has reached n ranks: ⌈log2 n⌉, for n >= 1.
constexpr int doubling_rounds(int n) {
  return std::bit_width(static_cast<unsigned>(n - 1));
}

/// How many of 0 … n-1 have that bit set.
constexpr std::int64_t numbers_with_bit(int bit, std::int64_t n) {
  const std::int64_t half = std::int64_t{1} << bit;
  const std::int64_t rest = n % (2 * half);
  return n / (2 * half) * half + (rest > half ? rest - half : 0);
}

/// Bits set in all of 0 … n-1 together.
constexpr std::int64_t bits_set_below(int n) {
  std::int64_t sum = 0;
  for (int bit = 0; bit < doubling_rounds(n); ++bit) sum += numbers_with_bit(bit, n);
  return sum;
}

}  // namespace hemiola::algorithms
