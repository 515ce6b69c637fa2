// SPDX-License-Identifier: Apache-2.0
// Permutations of 8 elements, a row per pattern of 8 bits, for instruction sets that permute but neither compress nor
// expand.
#pragma once

#include <array>
#include <cstdint>

namespace hemiola::codec {

using Rows = std::array<std::array<std::uint8_t, 8>, 256>;

/// Above every index: a lane taken from there is zero, or is overwritten.
inline constexpr std::uint8_t kNone = 0x80;

/// Row `bits`, entry k: which element is the k-th whose bit is set.
constexpr Rows packed_rows() {
  Rows rows{};
  for (unsigned bits = 0; bits < 256; ++bits) {
    rows[bits].fill(kNone);
    unsigned next = 0;
    for (std::uint8_t i = 0; i < 8; ++i)
      if (bits >> i & 1) rows[bits][next++] = i;
  }
  return rows;
}

/// Row `bits`, entry i: which value belongs to element i; none where its bit is not set.
constexpr Rows spread_rows() {
  Rows rows{};
  for (unsigned bits = 0; bits < 256; ++bits) {
    std::uint8_t next = 0;
    for (unsigned i = 0; i < 8; ++i) rows[bits][i] = bits >> i & 1 ? next++ : kNone;
  }
  return rows;
}

inline constexpr Rows kPacked = packed_rows();
inline constexpr Rows kSpread = spread_rows();

}  // namespace hemiola::codec
