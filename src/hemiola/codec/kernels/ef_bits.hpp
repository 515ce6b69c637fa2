// SPDX-License-Identifier: Apache-2.0
// The two bit streams of Elias-Fano positions, in plain C++: index/ef.cpp defines them. Inlined into
// functions for an instruction set, they use its instructions.
#pragma once

#include <cstring>

#include "hemiola/codec/kernels/kernels.hpp"

namespace hemiola::codec {

/// Bits one after the other. No branch: every `put` stores 8 bytes, of which the next ones overwrite the bits
/// that are not full yet.
class BitWriter {
 public:
  explicit BitWriter(std::byte* to) : to_(to) {}

  /// `count` at most kMost; bits above are zero.
  [[gnu::always_inline]] void put(std::uint64_t bits, unsigned count) {
    buffer_ |= bits << filled_;
    filled_ += count;
    std::memcpy(to_, &buffer_, sizeof buffer_);
    to_ += filled_ / 8;
    buffer_ >>= filled_ & ~7u;
    filled_ &= 7;
  }
  static constexpr unsigned kMost = 56;
  /// Zeros behind the last bit, at least as far as the next multiple of 64.
  [[gnu::always_inline]] void finish() { std::memcpy(to_, &buffer_, sizeof buffer_); }

 private:
  std::byte* to_;
  std::uint64_t buffer_ = 0;
  unsigned filled_ = 0;  ///< below 8
};

[[gnu::always_inline]] inline void write_low_plainly(const std::uint64_t* bitmap, std::size_t words,
                                                     unsigned low_bits, std::byte* to) {
  BitWriter writer(to);
  const std::uint64_t mask = (1ull << low_bits) - 1;
  for (std::size_t w = 0; w < words; ++w)
    for (std::uint64_t left = bitmap[w]; left != 0; left &= left - 1)
      writer.put((w * kWordElements + static_cast<std::size_t>(__builtin_ctzll(left))) & mask, low_bits);
  writer.finish();
}

/// As many ones, then the zero that ends their bucket: all positions of the same upper bits.
[[gnu::always_inline]] inline void put_bucket(BitWriter& writer, std::size_t ones) {
  constexpr unsigned kPart = 48;
  for (; ones > kPart; ones -= kPart) writer.put((1ull << kPart) - 1, kPart);
  writer.put((1ull << ones) - 1, static_cast<unsigned>(ones) + 1);
}

/// Buckets of whole words.
[[gnu::always_inline]] inline void write_wide_buckets(const std::uint64_t* bitmap, std::size_t words,
                                                      unsigned low_bits, std::byte* to) {
  BitWriter writer(to);
  const std::size_t width = std::size_t{1} << (low_bits - 6);
  if (width == 1)
    for (std::size_t w = 0; w < words; ++w)
      put_bucket(writer, static_cast<std::size_t>(__builtin_popcountll(bitmap[w])));
  for (std::size_t first = width == 1 ? words : 0; first < words; first += width) {
    const std::size_t end = width < words - first ? first + width : words;
    std::size_t ones = 0;
    for (std::size_t w = first; w < end; ++w)
      ones += static_cast<std::size_t>(__builtin_popcountll(bitmap[w]));
    put_bucket(writer, ones);
  }
  writer.finish();
}

[[gnu::always_inline]] inline void write_upper_plainly(const std::uint64_t* bitmap, std::size_t words,
                                                       unsigned low_bits, std::byte* to) {
  if (low_bits >= 6) return write_wide_buckets(bitmap, words, low_bits, to);
  BitWriter writer(to);
  const unsigned width = 1u << low_bits;
  const std::uint64_t mask = (1ull << width) - 1;
  for (std::size_t w = 0; w < words; ++w)
    for (unsigned first = 0; first < kWordElements; first += width)
      put_bucket(writer, static_cast<std::size_t>(__builtin_popcountll(bitmap[w] >> first & mask)));
  writer.finish();
}

/// The reader's state: words of the upper bits, as many positions, and the least value of the next one.
struct EfProgress {
  std::size_t words = 0, rank = 0;
  std::uint64_t least = 0;
};

[[gnu::always_inline]] inline std::size_t read_ef_plainly(const EfStreams& from, std::uint64_t* bitmap,
                                                          const EfProgress& begin = {}) {
  auto* bytes = reinterpret_cast<std::byte*>(bitmap);  // neighbours share a byte less often than a word
  const std::uint64_t mask = (1ull << from.low_bits) - 1;
  std::uint64_t least = begin.least;
  std::size_t rank = begin.rank, low_bit = rank * from.low_bits;
  for (std::size_t w = begin.words; w < from.upper_words; ++w) {
    std::uint64_t left;
    std::memcpy(&left, from.upper + w * sizeof left, sizeof left);
    for (; left != 0; left &= left - 1, ++rank, low_bit += from.low_bits) {
      const std::uint64_t high = w * 64 + static_cast<std::size_t>(__builtin_ctzll(left)) - rank;
      std::uint64_t low;
      std::memcpy(&low, from.low + low_bit / 8, sizeof low);
      const std::uint64_t position = high << from.low_bits | (low >> low_bit % 8 & mask);
      if (position - least >= from.elements - least) return rank;
      bytes[position / 8] |= std::byte{1} << position % 8;
      least = position + 1;
    }
  }
  return rank;
}

}  // namespace hemiola::codec
