// SPDX-License-Identifier: Apache-2.0
// Counts over a bitmap in plain C++. Inlined into functions for an instruction set, they use its instructions.
#pragma once

#include "hemiola/codec/kernels/kernels.hpp"

namespace hemiola::codec {

[[gnu::always_inline]] inline std::size_t count_bits_plainly(const std::uint64_t* bitmap, std::size_t words) {
  std::size_t bits = 0;
  for (std::size_t w = 0; w < words; ++w) bits += static_cast<std::size_t>(__builtin_popcountll(bitmap[w]));
  return bits;
}

[[gnu::always_inline]] inline BitmapCount count_plainly(const std::uint64_t* bitmap, std::size_t words) {
  constexpr std::uint64_t kLow =
      0x7f7f7f7f7f7f7f7full;  // a carry into a byte's highest bit tells that it is not zero
  BitmapCount count;
  for (std::size_t w = 0; w < words; ++w) {
    const std::uint64_t word = bitmap[w];
    count.bits += static_cast<std::size_t>(__builtin_popcountll(word));
    count.bytes += static_cast<std::size_t>(__builtin_popcountll((((word & kLow) + kLow) | word) & ~kLow));
    count.words += word != 0;
  }
  return count;
}

}  // namespace hemiola::codec
