// SPDX-License-Identifier: Apache-2.0
#include "hemiola/schedule/file/checksum.hpp"

#include <bit>
#include <cstring>

namespace hemiola {
namespace {

static_assert(std::endian::native == std::endian::little, "files take numbers as they lie in memory");

/// The product's two halves, added: every bit of the input reaches every bit of the result.
std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) + static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t load(std::span<const std::byte> bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), bytes.size());
  return word;
}

}  // namespace

std::uint64_t checksum(std::span<const std::byte> bytes) {
  std::uint64_t high = 0x243f6a8885a308d3ull;
  std::uint64_t low = 0x13198a2e03707344ull;
  const auto take_in = [&](std::uint64_t word) {
    high = fold(high ^ word, 0x9e3779b97f4a7c15ull);
    low = fold(low ^ word, 0xd6e8feb86659fd93ull) + word;
  };
  take_in(bytes.size());
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) take_in(load(bytes.subspan(i, 8)));
  if (i < bytes.size()) take_in(load(bytes.subspan(i)));
  return fold(low ^ high, 0xa0761d6478bd642full);
}

}  // namespace hemiola
