// SPDX-License-Identifier: Apache-2.0
// `pici` [SpCCL, §3]: the bitmap, and the number of nonzero elements before each tile of 4,096. Its size is
// the paper's. Words are rows, 64 elements that follow one another, where the paper's are columns of a tile.
// A row is the result of a compare on a processor and of a ballot on a GPU, and neither has to transpose
// values.
#include <cstring>

#include "hemiola/base/rounding.hpp"
#include "hemiola/codec/index/index.hpp"

namespace hemiola::codec {
namespace {

std::size_t bitmap_bytes(std::size_t elements) {
  return words_of(elements) * sizeof(std::uint64_t);
}

std::size_t bytes(std::size_t elements, const BitmapCount&) {
  return bitmap_bytes(elements) + rounded_up(tiles_of(elements) * sizeof(std::uint32_t), kIndexAlign);
}

void write(const Bitmap& bitmap, const Kernels& kernels, Words&, std::byte* to) {
  const std::size_t tiles = tiles_of(bitmap.elements);
  std::memcpy(to, bitmap.words, bitmap_bytes(bitmap.elements));
  std::byte* prefixes = to + bitmap_bytes(bitmap.elements);
  std::uint32_t before = 0;
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    std::memcpy(prefixes + tile * sizeof before, &before, sizeof before);
    before += static_cast<std::uint32_t>(kernels.count_bits(bitmap.words + tile * kTileWords, kTileWords));
  }
  if (tiles % 2 == 1) std::memset(prefixes + tiles * sizeof before, 0, sizeof before);
}

const std::uint64_t* read(std::span<const std::byte> index, std::size_t elements, std::size_t bits,
                          const Kernels& kernels, Words&, Words& into) {
  expect_bytes(Format::pici, index, bytes(elements, {}));
  const std::size_t words = words_of(elements), tiles = tiles_of(elements);
  const std::uint64_t* bitmap = reinterpret_cast<const std::uint64_t*>(index.data());
  if (reinterpret_cast<std::uintptr_t>(index.data()) % alignof(std::uint64_t) != 0) {
    into.resize(words);
    std::memcpy(into.data(), index.data(), words * sizeof(std::uint64_t));
    bitmap = into.data();
  }
  const std::byte* prefixes = index.data() + bitmap_bytes(elements);
  std::size_t before = 0;
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    std::uint32_t stated;
    std::memcpy(&stated, prefixes + tile * sizeof stated, sizeof stated);
    if (stated != before)
      refuse_message(std::to_string(before) + " values before tile " + std::to_string(tile) + " (pici)",
                     std::to_string(stated));
    const std::size_t first = tile * kTileWords;
    before += kernels.count_bits(bitmap + first, std::min(kTileWords, words - first));
  }
  if (before != bits)
    refuse_message(std::to_string(bits) + " bits, one per value (pici)", std::to_string(before));
  expect_no_bits_beyond(Format::pici, bitmap, elements, words);
  expect_zeros(Format::pici, index.subspan(bitmap_bytes(elements) + tiles * sizeof(std::uint32_t)));
  return bitmap;
}

}  // namespace

const Index kPiciIndex{.bytes = &bytes, .write = &write, .read = &read};

}  // namespace hemiola::codec
