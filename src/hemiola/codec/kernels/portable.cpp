// SPDX-License-Identifier: Apache-2.0
// Plain C++, for machines without an instruction set of ours.
#include <cstring>

#include "hemiola/codec/kernels/count.hpp"
#include "hemiola/codec/kernels/ef_bits.hpp"
#include "hemiola/codec/kernels/eight_bits_plainly.hpp"
#include "hemiola/codec/kernels/sets.hpp"

namespace hemiola::codec {
namespace {

template <typename T>
std::size_t compress(const std::byte* elements, std::size_t words, std::uint64_t* bitmap, std::byte* values) {
  std::byte* next = values;
  for (std::size_t w = 0; w < words; ++w) {
    std::uint64_t word = 0;
    for (unsigned i = 0; i < kWordElements; ++i, elements += sizeof(T)) {
      T value;
      std::memcpy(&value, elements, sizeof(T));
      std::memcpy(next, &value, sizeof(T));
      next += value != 0 ? sizeof(T) : 0;
      word |= static_cast<std::uint64_t>(value != 0) << i;
    }
    bitmap[w] = word;
  }
  return static_cast<std::size_t>(next - values) / sizeof(T);
}

template <typename T>
std::size_t expand(const std::byte* values, const std::uint64_t* bitmap, std::size_t words,
                   std::byte* elements) {
  const std::byte* next = values;
  for (std::size_t w = 0; w < words; ++w, elements += kWordElements * sizeof(T)) {
    std::memset(elements, 0, kWordElements * sizeof(T));
    for (std::uint64_t left = bitmap[w]; left != 0; left &= left - 1, next += sizeof(T))
      std::memcpy(elements + static_cast<std::size_t>(std::countr_zero(left)) * sizeof(T), next, sizeof(T));
  }
  return static_cast<std::size_t>(next - values) / sizeof(T);
}

std::size_t count_bits(const std::uint64_t* bitmap, std::size_t words) {
  return count_bits_plainly(bitmap, words);
}
BitmapCount count(const std::uint64_t* bitmap, std::size_t words) {
  return count_plainly(bitmap, words);
}
void write_low(const std::uint64_t* bitmap, std::size_t words, unsigned low_bits, std::byte* to) {
  write_low_plainly(bitmap, words, low_bits, to);
}
void write_upper(const std::uint64_t* bitmap, std::size_t words, unsigned low_bits, std::byte* to) {
  write_upper_plainly(bitmap, words, low_bits, to);
}
std::size_t read_ef(const EfStreams& from, std::uint64_t* bitmap) {
  return read_ef_plainly(from, bitmap);
}

void quantize(const float* values, float* rest, std::size_t elements, float factor, float* scales,
              std::int8_t* codes) {
  quantize_plainly(values, rest, elements, factor, scales, codes);
}
template <bool kAdds>
void restore(const float* scales, const std::int8_t* codes, std::size_t elements, float factor,
             float* values) {
  restore_plainly<kAdds>(scales, codes, elements, factor, values);
}

}  // namespace

Kernels portable_kernels() {
  const std::array<Expand, 4> expands{&expand<std::uint8_t>, &expand<std::uint16_t>, &expand<std::uint32_t>,
                                      &expand<std::uint64_t>};
  return {.name = "portable",
          .compress = {&compress<std::uint8_t>, &compress<std::uint16_t>, &compress<std::uint32_t>,
                       &compress<std::uint64_t>},
          .expand = expands,
          .stream = expands,
          .sum_integers = {},
          .sum_floats = {},
          .count_bits = &count_bits,
          .count = &count,
          .write_low = &write_low,
          .write_upper = &write_upper,
          .read_ef = &read_ef,
          .quantize = &quantize,
          .restore = &restore<false>,
          .add_restored = &restore<true>};
}

}  // namespace hemiola::codec
