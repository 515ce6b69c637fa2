// SPDX-License-Identifier: Apache-2.0
// Arrays of random bits with many zeros, and a reference that shares no code with the codecs.
#pragma once

#include <cstring>
#include <vector>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/random.hpp"

namespace hemiola::codec_tests {

/// Bit patterns that codecs might mistake for zero or for each other: -0.0 (of 1, 2, 4 and 8 bytes), quiet and signalling
/// NaN, infinities, subnormals, single bits; and anything.
inline std::uint64_t odd_bits(Random& random, std::size_t width) {
  const std::uint64_t sign = 1ull << (width * 8 - 1);
  switch (random.below(8)) {
    case 0:
      return sign;
    case 1:
      return 1;
    case 2:
      return sign | 1;
    case 3:
      return width == 4 ? 0x7fc00001 : width == 8 ? 0x7ff8000000000001 : 0x7e;
    case 4:
      return width == 4 ? 0x7f800001 : width == 8 ? 0x7ff0000000000001 : 0x7c;
    case 5:
      return width == 4 ? 0xff800000 : width == 8 ? 0xfff0000000000000 : 0xfc;
    case 6:
      return 1ull << random.below(static_cast<std::uint32_t>(width * 8));
    default:
      return random.next();
  }
}

/// `count` elements of `width` bytes, each nonzero with probability `density`, in runs of about `run`.
inline Bytes sparse_array(Random& random, std::size_t count, std::size_t width, double density,
                          std::uint32_t run = 1) {
  Bytes bytes(count * width);
  bool keep = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (random.below(run) == 0) keep = random.uniform() < density;
    if (!keep) continue;
    const std::uint64_t bits = odd_bits(random, width);
    std::memcpy(bytes.data() + i * width, &bits, width);
  }
  return bytes;
}

/// What a scan must find, one element after the other.
struct Reference {
  std::vector<std::uint64_t> bitmap;
  Bytes values;
  std::size_t count = 0;

  Reference(const Bytes& elements, std::size_t width) : bitmap((elements.size() / width + 63) / 64) {
    const Bytes zero(width);
    for (std::size_t i = 0; i < elements.size() / width; ++i) {
      const std::byte* element = elements.data() + i * width;
      if (std::memcmp(element, zero.data(), width) == 0) continue;
      bitmap[i / 64] |= 1ull << i % 64;
      values.insert(values.end(), element, element + width);
      ++count;
    }
  }
};

}  // namespace hemiola::codec_tests
