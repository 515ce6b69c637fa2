// SPDX-License-Identifier: Apache-2.0
// `hier`: the bitmap's own nonzero bytes, and of their bitmap again, for data that come in clusters. It is the codec for
// elements of one byte applied to the bitmap, twice.
//
//   level 2  a bit per byte of level 1, whole tiles: one 64-bit word per 4,096 elements
//   bytes 1  the bytes of level 1 that are not zero; level 1 has a bit per byte of the bitmap
//   bytes 0  the bytes of the bitmap that are not zero, filled up to 8
#include <cstring>

#include "hemiola/base/rounding.hpp"
#include "hemiola/codec/index/index.hpp"
#include "hemiola/codec/packed.hpp"

namespace hemiola::codec {
namespace {

/// Words of level 1 per tile: 64 bytes, a bit for each of the bitmap's 512.
constexpr std::size_t kLevel1Words = kTileWords / 8;

std::size_t level2_bytes(std::size_t elements) {
  return tiles_of(elements) * sizeof(std::uint64_t);
}

std::size_t bytes(std::size_t elements, const BitmapCount& count) {
  // A byte of level 1 tells of a word of the bitmap.
  return rounded_up(level2_bytes(elements) + count.words + count.bytes, kIndexAlign);
}

void write(const Bitmap& bitmap, const Kernels& kernels, Words& scratch, std::byte* to) {
  const std::size_t tiles = tiles_of(bitmap.elements);
  const std::size_t level1_words = tiles * kLevel1Words;
  scratch.resize(level1_words * 2 + tiles + kSlackBytes / sizeof(std::uint64_t));
  std::uint64_t* level1 = scratch.data();
  std::uint64_t* level2 = level1 + level1_words;
  auto* bytes1 = reinterpret_cast<std::byte*>(level2 + tiles);
  const Compress pack = kernels.compress[0];
  const std::size_t end = level2_bytes(bitmap.elements) + bitmap.count.words + bitmap.count.bytes;
  pack(reinterpret_cast<const std::byte*>(bitmap.words), level1_words, level1, to + end - bitmap.count.bytes);
  pack(reinterpret_cast<const std::byte*>(level1), tiles, level2, bytes1);
  std::memcpy(to, level2, level2_bytes(bitmap.elements));
  std::memcpy(to + level2_bytes(bitmap.elements), bytes1, bitmap.count.words);
  std::memset(to + end, 0, rounded_up(end, kIndexAlign) - end);
}

const std::uint64_t* read(std::span<const std::byte> index, std::size_t elements, std::size_t bits,
                          const Kernels& kernels, Words& scratch, Words& into) {
  const std::size_t tiles = tiles_of(elements), level1_words = tiles * kLevel1Words;
  if (index.size() < level2_bytes(elements))
    refuse_message("at least " + std::to_string(level2_bytes(elements)) + " bytes of index (hier)",
                   std::to_string(index.size()));
  scratch.resize(level1_words + tiles);
  std::uint64_t* level1 = scratch.data();
  std::uint64_t* level2 = level1 + level1_words;
  std::memcpy(level2, index.data(), level2_bytes(elements));

  const std::size_t count1 = kernels.count_bits(level2, tiles);
  if (index.size() - level2_bytes(elements) < count1)
    refuse_message(std::to_string(count1) + " bytes of level 1 (hier)", "the end of the index");
  const auto rest1 = index.subspan(level2_bytes(elements));
  expand_packed(kernels, 0, {.values = rest1, .count = count1}, level2, tiles,
                reinterpret_cast<std::byte*>(level1));

  const std::size_t count0 = kernels.count_bits(level1, level1_words);
  const std::size_t end = level2_bytes(elements) + count1 + count0;
  expect_bytes(Format::hier, index, rounded_up(end, kIndexAlign));
  into.resize(padded_words(elements));
  expand_packed(kernels, 0, {.values = rest1.subspan(count1), .count = count0}, level1, level1_words,
                reinterpret_cast<std::byte*>(into.data()));

  const BitmapCount found = kernels.count(into.data(), padded_words(elements));
  if (found != BitmapCount{.bits = bits, .bytes = count0, .words = count1})
    refuse_message(std::to_string(bits) + " bits in " + std::to_string(count0) + " bytes in " +
                       std::to_string(count1) + " words (hier)",
                   std::to_string(found.bits) + " in " + std::to_string(found.bytes) + " in " +
                       std::to_string(found.words));
  expect_no_bits_beyond(Format::hier, into.data(), elements, padded_words(elements));
  expect_zeros(Format::hier, index.subspan(end));
  return into.data();
}

}  // namespace

const Index kHierIndex{.bytes = &bytes, .write = &write, .read = &read};

}  // namespace hemiola::codec
