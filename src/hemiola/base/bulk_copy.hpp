// Copies and combinations of bytes that are too many for the caches. A core that stores to memory waits for one
// line after the other to be fetched before it can be overwritten; asked for ahead of time, they come many at a
// time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace hemiola {

inline constexpr std::size_t kStoreLine = 64;
/// How far ahead lines are asked for: measured, 16 to 64 lines do equally well.
inline constexpr std::size_t kLinesAhead = 32;

/// Like memcpy: the ranges do not overlap.
inline void bulk_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::size_t done = 0;
  for (; done + kStoreLine <= bytes; done += kStoreLine) {
    __builtin_prefetch(to + done + kLinesAhead * kStoreLine, 1);
    std::memcpy(to + done, from + done, kStoreLine);
  }
  std::memcpy(to + done, from + done, bytes - done);
}

/// Like combine(dst, a, b, bytes), which may be called for one part after the other.
template <typename Combine>
void bulk_combine(Combine combine, std::byte* dst, const std::byte* a, const std::byte* b,
                  std::size_t bytes) {
  constexpr std::size_t kBlock = kLinesAhead * kStoreLine;
  // What is read is about to be in cache anyway.
  if (dst == a || dst == b) return combine(dst, a, b, bytes);
  for (std::size_t done = 0; done < bytes; done += kBlock) {
    for (std::size_t line = 0; line < kBlock; line += kStoreLine)
      __builtin_prefetch(dst + done + kBlock + line, 1);
    combine(dst + done, a + done, b + done, std::min(kBlock, bytes - done));
  }
}

}  // namespace hemiola
