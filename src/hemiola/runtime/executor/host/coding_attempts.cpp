#include "hemiola/runtime/executor/host/coding_attempts.hpp"

#include <cstdint>
#include <cstring>

namespace hemiola {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kSampledLines = 64;
/// Fewer zeros than one element in so many make nothing shorter.
constexpr std::size_t kElementsPerZero = 100;

template <typename Word>
std::size_t zeros_of(const std::byte* line) {
  Word words[kLine / sizeof(Word)];
  std::memcpy(words, line, kLine);
  std::size_t zeros = 0;
  for (Word word : words) zeros += word == 0;
  return zeros;
}

std::size_t zeros_in_line(const std::byte* line, std::size_t element_bytes) {
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

void CodingAttempts::begin(const std::byte* elements, std::size_t bytes, std::size_t element_bytes) {
  *this = {};
  const std::size_t lines = bytes / kLine;
  if (lines < kSampledLines) return;  // the first slices tell as soon
  std::size_t zeros = 0;
  for (std::size_t i = 0; i < kSampledLines; ++i)
    zeros += zeros_in_line(elements + lines * i / kSampledLines * kLine, element_bytes);
  is_dense_ = zeros * kElementsPerZero < kSampledLines * kLine / element_bytes;
}

}  // namespace hemiola
