// SPDX-License-Identifier: Apache-2.0
// The index of a message: which elements its values are. Every format writes it from a bitmap and reads it into one,
// checking all of it on the way; a file each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hemiola/codec/format.hpp"
#include "hemiola/codec/kernels/kernels.hpp"

namespace hemiola::codec {

/// Elements of a tile: 64 words of the bitmap.
inline constexpr std::size_t kTileElements = 4096;
inline constexpr std::size_t kTileWords = kTileElements / kWordElements;

constexpr std::size_t tiles_of(std::size_t elements) {
  return (elements + kTileElements - 1) / kTileElements;
}
/// Words that a bitmap has in memory: whole tiles. Bits from `elements` on are zero.
constexpr std::size_t padded_words(std::size_t elements) {
  return tiles_of(elements) * kTileWords;
}

/// Which of `elements` are meant, as `padded_words` words.
struct Bitmap {
  const std::uint64_t* words = nullptr;
  std::size_t elements = 0;
  BitmapCount count;
};

using Words = std::vector<std::uint64_t>;

/// One index format.
struct Index {
  /// Exact bytes, a multiple of kIndexAlign.
  std::size_t (*bytes)(std::size_t elements, const BitmapCount& count);
  /// Writes so many bytes; up to kSlackBytes behind them may change.
  void (*write)(const Bitmap& bitmap, const Kernels& kernels, Words& scratch, std::byte* to);
  /// Returns the `padded_words` of a bitmap with exactly `bits` bits: `into`, or the index itself where it is one. Reads
  /// nothing outside the index; throws FormatError unless it is one that `write` could have written.
  const std::uint64_t* (*read)(std::span<const std::byte> index, std::size_t elements, std::size_t bits,
                               const Kernels& kernels, Words& scratch, Words& into);
};

/// Of every format but dense.
const Index& index_of(Format format);

extern const Index kPiciIndex, kEfIndex, kHierIndex, kCooIndex;

/// How many of each position's bits `ef` stores as they are.
unsigned ef_low_bits(std::size_t elements, std::size_t positions);

/// Throws FormatError with the expected and the found content.
[[noreturn]] void refuse_message(const std::string& expected, const std::string& found);
/// Refuses unless the index has so many bytes.
void expect_bytes(Format format, std::span<const std::byte> index, std::size_t bytes);
/// Refuses unless all these bytes are zero: they only fill up.
void expect_zeros(Format format, std::span<const std::byte> padding);
/// Refuses unless no bit is set from `elements` on, up to the end of `words` words.
void expect_no_bits_beyond(Format format, const std::uint64_t* bitmap, std::size_t elements,
                           std::size_t words);

}  // namespace hemiola::codec
