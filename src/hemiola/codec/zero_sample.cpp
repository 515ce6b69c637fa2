// SPDX-License-Identifier: Apache-2.0
#include "hemiola/codec/zero_sample.hpp"

#include <algorithm>
#include <cstring>

namespace hemiola::codec {
namespace {

constexpr std::size_t kLine = 64;

template <typename Word>
std::int64_t zeros_of(const std::byte* line) {
  Word words[kLine / sizeof(Word)];
  std::memcpy(words, line, kLine);
  return std::ranges::count(words, Word{0});
}

std::int64_t zeros_in_line(const std::byte* line, std::size_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return zeros_of<std::uint8_t>(line);
    case 2:
      return zeros_of<std::uint16_t>(line);
    case 4:
      return zeros_of<std::uint32_t>(line);
    default:
      return zeros_of<std::uint64_t>(line);
  }
}

}  // namespace

ZeroCount sample_zeros(const std::byte* elements, std::size_t bytes, std::size_t element_bytes,
                       std::size_t most_lines) {
  const std::size_t lines = bytes / kLine, seen = std::min(lines, most_lines);
  ZeroCount count{0, static_cast<std::int64_t>(seen * kLine / element_bytes)};
  for (std::size_t i = 0; i < seen; ++i)
    count.zeros += zeros_in_line(elements + lines * i / seen * kLine, element_bytes);
  return count;
}

}  // namespace hemiola::codec
