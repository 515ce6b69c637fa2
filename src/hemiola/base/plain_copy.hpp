// SPDX-License-Identifier: Apache-2.0
// Copies like the C library, except where that stumbles. Its string instructions (`rep movsb`), with which it
// and the kernel copy some kilobytes and more, take up to twenty times as long on some processors (AMD's Zen
// 3 and 4). That is so where the bytes go a few bytes further into a page than they come from. That is no
// rare case: arrays that the C library has made one behind the other lie so, 16 bytes for its own use apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hemiola {

inline constexpr std::size_t kStoreLine = 64;
inline constexpr std::size_t kPageBytes = 4096;

/// Whether `to` lies less than a line further into its page than `from` into its own.
inline bool is_little_further(const std::byte* to, std::uintptr_t from) {
  const std::uintptr_t distance = (reinterpret_cast<std::uintptr_t>(to) - from) % kPageBytes;
  return distance - 1 < kStoreLine - 1;
}

/// Like memcpy: the ranges do not overlap. Line by line takes about as long at any place.
inline void plain_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (!is_little_further(to, reinterpret_cast<std::uintptr_t>(from))) [[likely]] {
    std::memcpy(to, from, bytes);
    return;
  }
  std::size_t done = 0;
  for (; done + kStoreLine <= bytes; done += kStoreLine) std::memcpy(to + done, from + done, kStoreLine);
  std::memcpy(to + done, from + done, bytes - done);
}

}  // namespace hemiola
