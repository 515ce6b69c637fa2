// SPDX-License-Identifier: Apache-2.0
// Each instruction set's kernels for codecs: elements that are not zero packed together, 64 at a time, with a
// bit for each in a bitmap; and the inverse. Zero is all bits zero, so -0.0, NaN and subnormals are values.
// Everything else about codecs is the same code for all instruction sets, and every set gives the same bytes.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hemiola::codec {

/// Elements of a word of the bitmap: bit i of word w is element 64·w + i.
inline constexpr std::size_t kWordElements = 64;
/// The bytes that `compress` may write, and `expand` read, beyond the last packed value.
inline constexpr std::size_t kSlackBytes = 64;

/// Packs the nonzero ones of 64·words elements into `values` and writes a word of the bitmap per 64 elements. Returns how
/// many values there are. `values` has room for all that come, and kSlackBytes more.
using Compress = std::size_t (*)(const std::byte* elements, std::size_t words, std::uint64_t* bitmap,
                                 std::byte* values);
/// Writes 64·words elements: where a bit is set the next value, elsewhere zero. Returns how many values it took, and reads
/// up to kSlackBytes beyond them.
using Expand = std::size_t (*)(const std::byte* values, const std::uint64_t* bitmap, std::size_t words,
                               std::byte* elements);

/// The set bits of a bitmap, counted in three units.
struct BitmapCount {
  std::size_t bits = 0;
  std::size_t bytes = 0;  ///< that are not zero
  std::size_t words = 0;  ///< that are not zero

  bool operator==(const BitmapCount&) const = default;
};

/// Positions as index/ef.cpp stores them. The low bits may be read 8 bytes at a time, from any position's first byte.
struct EfStreams {
  const std::byte* low = nullptr;
  std::size_t low_bytes = 0;
  const std::byte* upper = nullptr;
  std::size_t upper_words = 0;
  unsigned low_bits = 0;
  std::size_t elements = 0;  ///< the bitmap's; no upper bit leads beyond them by as much as 2^low_bits
};

/// Writes one of the streams for the set bits of a bitmap, filled up to 64 bits, and at most 16 bytes of
/// anything behind.
using EfWrite = void (*)(const std::uint64_t* bitmap, std::size_t words, unsigned low_bits, std::byte* to);
/// Sets the positions' bits in a bitmap of zeros. Returns how many positions there are, or, where one is not above that
/// before it and below `elements`, how many stand before that one.
using EfRead = std::size_t (*)(const EfStreams& from, std::uint64_t* bitmap);

/// Elements of an eight-bit block, which share a scale: element i is scales[i / 256] · codes[i].
inline constexpr std::size_t kBlockElements = 256;
/// The NaN whose bits are all set, as the runtime makes it.
inline constexpr float kEveryBit = std::bit_cast<float>(0xffffffffU);

/// Adds `rest` times `factor`, a power of two, to float32 values, writes the nearest eight-bit values, and leaves in `rest`
/// the sums less those, over the factor. A scale is
/// the block's largest magnitude / 127, rounded down where 127 of it would be infinity. Where it is below the least normal
/// float, scale and codes are zero. A block with an infinity or a NaN has the scale kEveryBit, and leaves no rest.
using Quantize = void (*)(const float* values, float* rest, std::size_t elements, float factor, float* scales,
                          std::int8_t* codes);
/// Adds the eight-bit values times `factor`, or writes them. A scale that is not finite makes a block of kEveryBit.
using Restore = void (*)(const float* scales, const std::int8_t* codes, std::size_t elements, float factor,
                         float* values);

/// The kernels of one instruction set. Arrays are by log2 of the element's bytes: 1, 2, 4, 8.
struct Kernels {
  std::string_view name;
  std::array<Compress, 4> compress;
  std::array<Expand, 4> expand;
  /// Around the caches, where the output is larger than they are.
  std::array<Expand, 4> stream;
  /// Adds expanded elements to the destination, as `expand` writes them: the result is that of the runtime's
  /// `combine` for sums. Null where the set has nothing faster.
  std::array<Expand, 4> sum_integers, sum_floats;
  std::size_t (*count_bits)(const std::uint64_t* bitmap, std::size_t words);
  BitmapCount (*count)(const std::uint64_t* bitmap, std::size_t words);
  EfWrite write_low, write_upper;
  EfRead read_ef;
  Quantize quantize;
  Restore restore, add_restored;
};

/// Those that this machine can run, slowest first.
std::span<const Kernels> all_kernels();
/// The last of `all_kernels`.
const Kernels& best_kernels();

constexpr std::size_t words_of(std::size_t elements) {
  return (elements + kWordElements - 1) / kWordElements;
}

}  // namespace hemiola::codec
