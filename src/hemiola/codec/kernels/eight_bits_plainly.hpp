// SPDX-License-Identifier: Apache-2.0
// Blocks of eight-bit values in plain C++. Inlined into functions for an instruction set, they use its instructions. Each
// operation of floats is rounded alone, and maxima are those of integers, so every set gives the same bits.
#pragma once

#include <bit>
#include <limits>

#include "hemiola/codec/kernels/kernels.hpp"

namespace hemiola::codec {

/// Magnitudes of floats are in the order of their bits; infinity and NaN are the largest.
[[gnu::always_inline]] inline std::uint32_t magnitude_bits(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7fffffff;
}
inline constexpr std::uint32_t kInfinityBits = 0x7f800000;

inline constexpr float kLargestCode = 127;
/// Of larger ones the largest code would be infinity.
inline constexpr float kMostStep =
    std::bit_cast<float>(std::bit_cast<std::uint32_t>(std::numeric_limits<float>::max() / kLargestCode) - 1);

[[gnu::always_inline]] inline void quantize_block(const float* values, float* rest, std::size_t count,
                                                  float factor, float* scale, std::int8_t* codes) {
  /// Added to a small float it leaves the nearest integer, of two the even one, in the lowest bits.
  constexpr float kRounder = 12582912;  // 1.5 * 2^23
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < count; ++i) {
    rest[i] = rest[i] * factor + values[i];
    const std::uint32_t magnitude = magnitude_bits(rest[i]);
    most = magnitude > most ? magnitude : most;
  }
  const bool is_finite = most < kInfinityBits;
  const float exact = std::bit_cast<float>(most) / kLargestCode, step = exact < kMostStep ? exact : kMostStep;
  const float whole = 1 / factor;
  if (!is_finite || step < std::numeric_limits<float>::min()) {
    *scale = is_finite ? 0 : kEveryBit;
    for (std::size_t i = 0; i < count; ++i) codes[i] = 0;
    for (std::size_t i = 0; i < count; ++i) rest[i] = is_finite ? rest[i] * whole : 0;
    return;
  }
  *scale = step;
  const float inverse = 1 / step;
  for (std::size_t i = 0; i < count; ++i) {
    const float rounded = rest[i] * inverse + kRounder;
    codes[i] = static_cast<std::int8_t>(std::bit_cast<std::int32_t>(rounded) -
                                        std::bit_cast<std::int32_t>(kRounder));
    rest[i] = (rest[i] - (rounded - kRounder) * step) * whole;
  }
}

template <bool kAdds>
[[gnu::always_inline]] inline void restore_block(float scale, const std::int8_t* codes, float factor,
                                                 float* values, std::size_t count) {
  if (magnitude_bits(scale) >= kInfinityBits) {
    for (std::size_t i = 0; i < count; ++i) values[i] = kEveryBit;
    return;
  }
  const float step = scale * factor;
  for (std::size_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(codes[i]) * step;
    values[i] = kAdds ? values[i] + value : value;
  }
}

// A whole block's loops have a constant end.
[[gnu::always_inline]] inline void quantize_plainly(const float* values, float* rest, std::size_t elements,
                                                    float factor, float* scales, std::int8_t* codes) {
  const std::size_t whole = elements / kBlockElements, left = elements % kBlockElements;
  for (std::size_t b = 0; b < whole; ++b)
    quantize_block(values + b * kBlockElements, rest + b * kBlockElements, kBlockElements, factor, scales + b,
                   codes + b * kBlockElements);
  const std::size_t begin = whole * kBlockElements;
  if (left > 0) quantize_block(values + begin, rest + begin, left, factor, scales + whole, codes + begin);
}

template <bool kAdds>
[[gnu::always_inline]] inline void restore_plainly(const float* scales, const std::int8_t* codes,
                                                   std::size_t elements, float factor, float* values) {
  const std::size_t whole = elements / kBlockElements, left = elements % kBlockElements;
  for (std::size_t b = 0; b < whole; ++b)
    restore_block<kAdds>(scales[b], codes + b * kBlockElements, factor, values + b * kBlockElements,
                         kBlockElements);
  const std::size_t begin = whole * kBlockElements;
  if (left > 0) restore_block<kAdds>(scales[whole], codes + begin, factor, values + begin, left);
}

}  // namespace hemiola::codec
