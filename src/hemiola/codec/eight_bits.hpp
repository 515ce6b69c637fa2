// SPDX-License-Identifier: Apache-2.0
// A coded message of eight-bit blocks: a header of 32 bytes, the blocks' scales, then the codes. Every length follows from
// the number of elements; docs/reference/formats/coded.md has the bytes. Lossy, unlike the other formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hemiola/codec/kernels/kernels.hpp"

namespace hemiola::codec {

/// Of a message of so many float32 elements, header included.
std::size_t eight_bit_bytes(std::size_t elements);

/// Writes `eight_bit_bytes` to a multiple of 4, and leaves the errors in `rest`, as Quantize says.
void write_eight_bits(const float* values, float* rest, std::size_t elements, float factor,
                      std::byte* message);

/// A message that has been checked, where it lies.
struct EightBits {
  const float* scales = nullptr;
  const std::int8_t* codes = nullptr;
  std::size_t elements = 0;

  void restore(float* to) const { best_kernels().restore(scales, codes, elements, 1, to); }
  void add(float* to) const { best_kernels().add_restored(scales, codes, elements, 1, to); }
};

/// Whether it begins like a message of eight-bit blocks, and not like another coded one.
bool are_eight_bits(std::span<const std::byte> message);

/// Checks a message of which the receiver knows the element count: the header, the length and each scale. It lies at a
/// multiple of 4. Throws FormatError.
EightBits open_eight_bits(std::span<const std::byte> message, std::size_t elements);

}  // namespace hemiola::codec
