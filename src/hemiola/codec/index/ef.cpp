// SPDX-License-Identifier: Apache-2.0
// `ef`: positions as Elias and Fano store an ascending sequence, within 1 to 3 % of the least size of any
// code for random data.
//
//   ranks       for every block of 2^b elements but the first: positions before it, 32 bits (where a GPU's block begins)
//   low bits    of every position, l each, one after the other, filled up to 64
//   upper bits  position i of rank r sets bit (i >> l) + r: as many ones as positions, a zero wherever i >> l grows
//
// With n elements and m positions l = floor(log2(n / m)), and b = max(16, l + 9), so that a rank costs little beside the
// positions of its block. Upper bits end with the last element's, filled up to 64.
#include <algorithm>
#include <bit>
#include <cstring>

#include "hemiola/base/rounding.hpp"
#include "hemiola/codec/index/index.hpp"

namespace hemiola::codec {
namespace {

struct Layout {
  unsigned low, block;  ///< l and b
  std::size_t ranks, rank_bytes, low_bytes, upper_bits, upper_bytes;

  Layout(std::size_t elements, std::size_t positions)
      : low(ef_low_bits(elements, positions)),
        block(std::max(16u, low + 9)),
        ranks(positions == 0 ? 0 : (elements - 1) >> block),
        rank_bytes(rounded_up(ranks * sizeof(std::uint32_t), kIndexAlign)),
        low_bytes(rounded_up(positions * low, std::size_t{64}) / 8),
        upper_bits(positions == 0 ? 0 : positions + ((elements - 1) >> low)),
        upper_bytes(rounded_up(upper_bits, std::size_t{64}) / 8) {}

  std::size_t bytes() const { return rank_bytes + low_bytes + upper_bytes; }
};

std::uint64_t word_at(const std::byte* from, std::size_t word) {
  std::uint64_t value;
  std::memcpy(&value, from + word * sizeof value, sizeof value);
  return value;
}

std::size_t bytes(std::size_t elements, const BitmapCount& count) {
  return Layout(elements, count.bits).bytes();
}

void write_ranks(const Bitmap& bitmap, const Kernels& kernels, const Layout& layout, std::byte* to) {
  std::uint32_t before = 0;
  const std::size_t block_words = std::size_t{1} << (layout.block - 6);
  for (std::size_t b = 0; b < layout.ranks; ++b) {
    before += static_cast<std::uint32_t>(kernels.count_bits(bitmap.words + b * block_words, block_words));
    std::memcpy(to + b * sizeof before, &before, sizeof before);
  }
  std::memset(to + layout.ranks * sizeof before, 0, layout.rank_bytes - layout.ranks * sizeof before);
}

void write(const Bitmap& bitmap, const Kernels& kernels, Words&, std::byte* to) {
  const Layout layout(bitmap.elements, bitmap.count.bits);
  if (bitmap.count.bits == 0) return;
  write_ranks(bitmap, kernels, layout, to);
  std::byte* low = to + layout.rank_bytes;
  const std::size_t words = words_of(bitmap.elements);
  if (layout.low > 0) kernels.write_low(bitmap.words, words, layout.low, low);
  kernels.write_upper(bitmap.words, words, layout.low, low + layout.low_bytes);
}

std::size_t count_upper(const std::byte* upper, std::size_t words, const Kernels& kernels) {
  if (reinterpret_cast<std::uintptr_t>(upper) % alignof(std::uint64_t) == 0)
    return kernels.count_bits(reinterpret_cast<const std::uint64_t*>(upper), words);
  std::size_t found = 0;
  for (std::size_t w = 0; w < words; ++w) found += static_cast<std::size_t>(std::popcount(word_at(upper, w)));
  return found;
}

void check_upper(const std::byte* upper, const Layout& layout, std::size_t bits, const Kernels& kernels) {
  const std::size_t found = count_upper(upper, layout.upper_bytes / 8, kernels);
  if (found != bits)
    refuse_message(std::to_string(bits) + " upper bits, one per position (ef)", std::to_string(found));
  const std::size_t last = layout.upper_bits % 64;
  if (last != 0 && word_at(upper, layout.upper_bits / 64) >> last != 0)
    refuse_message("no upper bits (ef) from " + std::to_string(layout.upper_bits) + " on", "some");
}

void check_ranks(std::span<const std::byte> index, const Layout& layout, const std::uint64_t* bitmap,
                 const Kernels& kernels) {
  const std::size_t block_words = std::size_t{1} << (layout.block - 6);
  std::size_t before = 0;
  for (std::size_t b = 0; b < layout.ranks; ++b) {
    std::uint32_t stated;
    std::memcpy(&stated, index.data() + b * sizeof stated, sizeof stated);
    before += kernels.count_bits(bitmap + b * block_words, block_words);
    if (stated != before)
      refuse_message(std::to_string(before) + " positions before block " + std::to_string(b + 1) + " (ef)",
                     std::to_string(stated));
  }
  expect_zeros(Format::ef, index.subspan(layout.ranks * sizeof(std::uint32_t),
                                         layout.rank_bytes - layout.ranks * sizeof(std::uint32_t)));
}

const std::uint64_t* read(std::span<const std::byte> index, std::size_t elements, std::size_t bits,
                          const Kernels& kernels, Words&, Words& into) {
  const Layout layout(elements, bits);
  expect_bytes(Format::ef, index, layout.bytes());
  const std::byte* low = index.data() + layout.rank_bytes;
  const std::byte* upper = low + layout.low_bytes;
  check_upper(upper, layout, bits, kernels);
  const std::size_t low_end = bits * layout.low;
  if (low_end % 64 != 0 && word_at(low, low_end / 64) >> low_end % 64 != 0)
    refuse_message("zeros behind the low bits (ef)", "other bits");
  into.assign(words_of(elements), 0);
  const std::size_t read = kernels.read_ef({.low = low,
                                            .low_bytes = layout.low_bytes,
                                            .upper = upper,
                                            .upper_words = layout.upper_bytes / 8,
                                            .low_bits = layout.low,
                                            .elements = elements},
                                           into.data());
  if (read != bits)
    refuse_message("position " + std::to_string(read) + " (ef) above the one before it and below " +
                       std::to_string(elements),
                   "another");
  check_ranks(index, layout, into.data(), kernels);
  return into.data();
}

}  // namespace

unsigned ef_low_bits(std::size_t elements, std::size_t positions) {
  return positions == 0 ? 0 : static_cast<unsigned>(std::bit_width(elements / positions) - 1);
}

const Index kEfIndex{.bytes = &bytes, .write = &write, .read = &read};

}  // namespace hemiola::codec
