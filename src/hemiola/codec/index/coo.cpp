// SPDX-License-Identifier: Apache-2.0
// `coo`: every position as 32 bits, for comparison. Nothing chooses it.
#include <cstring>

#include "hemiola/base/rounding.hpp"
#include "hemiola/codec/index/index.hpp"

namespace hemiola::codec {
namespace {

std::size_t bytes(std::size_t, const BitmapCount& count) {
  return rounded_up(count.bits * sizeof(std::uint32_t), kIndexAlign);
}

void write(const Bitmap& bitmap, const Kernels&, Words&, std::byte* to) {
  for (std::size_t w = 0; w < words_of(bitmap.elements); ++w)
    for (std::uint64_t left = bitmap.words[w]; left != 0; left &= left - 1, to += sizeof(std::uint32_t)) {
      const auto position =
          static_cast<std::uint32_t>(w * kWordElements + static_cast<std::size_t>(std::countr_zero(left)));
      std::memcpy(to, &position, sizeof position);
    }
  if (bitmap.count.bits % 2 == 1) std::memset(to, 0, sizeof(std::uint32_t));
}

const std::uint64_t* read(std::span<const std::byte> index, std::size_t elements, std::size_t bits,
                          const Kernels&, Words&, Words& into) {
  expect_bytes(Format::coo, index, bytes(elements, {.bits = bits}));
  into.assign(words_of(elements), 0);
  std::uint64_t least = 0;  // that the next position may be
  for (std::size_t i = 0; i < bits; ++i) {
    std::uint32_t position;
    std::memcpy(&position, index.data() + i * sizeof position, sizeof position);
    if (position < least || position >= elements)
      refuse_message("position " + std::to_string(i) + " (coo) in " + std::to_string(least) + " … " +
                         std::to_string(elements - 1),
                     std::to_string(position));
    into[position / kWordElements] |= 1ull << position % kWordElements;
    least = std::uint64_t{position} + 1;
  }
  expect_zeros(Format::coo, index.subspan(bits * sizeof(std::uint32_t)));
  return into.data();
}

}  // namespace

const Index kCooIndex{.bytes = &bytes, .write = &write, .read = &read};

}  // namespace hemiola::codec
