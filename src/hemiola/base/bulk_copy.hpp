// SPDX-License-Identifier: Apache-2.0
// Copies and combinations of bytes that are too many for the caches. A core that stores to memory waits for one
// line after the other to be fetched before it can be overwritten; asked for ahead of time, they come many at a
// time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "hemiola/base/plain_copy.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace hemiola {

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

/// Like memcpy, four streams side by side: of lines that come from far away, as those that another core has just written,
/// more are on their way at a time than one stream asks for.
inline void copy_in_quarters(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::size_t quarter = bytes / 4 / kStoreLine * kStoreLine;
  for (std::size_t line = 0; line < quarter; line += kStoreLine)
    for (std::size_t at = line; at < 4 * quarter; at += quarter) std::memcpy(to + at, from + at, kStoreLine);
  std::memcpy(to + 4 * quarter, from + 4 * quarter, bytes - 4 * quarter);
}

#if defined(__x86_64__)
/// Like memcpy, past the caches: for memory that another core reads next. `to` is the beginning of a line.
inline void bypassing_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::size_t done = 0;
  for (; done + kStoreLine <= bytes; done += kStoreLine)
    for (std::size_t at = done; at < done + kStoreLine; at += sizeof(__m128i))
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
  std::memcpy(to + done, from + done, bytes - done);
  _mm_sfence();  // every later reader of the stored flag sees these bytes, too
}
#else
inline void bypassing_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}
#endif

/// Like combine(dst, a, b, bytes), which may be called for one part after the other.
template <typename Combine>
void bulk_combine(Combine combine, std::byte* dst, const std::byte* a, const std::byte* b,
                  std::size_t bytes) {
  constexpr std::size_t kBlock = kLinesAhead * kStoreLine;
  // The source is about to be in cache anyway.
  if (dst == a || dst == b) return combine(dst, a, b, bytes);
  for (std::size_t done = 0; done < bytes; done += kBlock) {
    for (std::size_t line = 0; line < kBlock; line += kStoreLine)
      __builtin_prefetch(dst + done + kBlock + line, 1);
    combine(dst + done, a + done, b + done, std::min(kBlock, bytes - done));
  }
}

}  // namespace hemiola
