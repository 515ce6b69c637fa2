// SPDX-License-Identifier: Apache-2.0
// Integers rounded: up to whole units of memory, down where a size is divided in proportion.
#pragma once

#include <cstdint>

namespace hemiola {

/// Bytes; data that ranks write beside each other lies in different ones.
inline constexpr std::int64_t kCacheLine = 64;

/// The least multiple of `unit` (above 0) that is not below `value` (at least 0).
template <typename T>
constexpr T rounded_up(T value, T unit) {
  return (value + unit - 1) / unit * unit;
}

/// floor(size · part / whole), for numbers from 0 on, `whole` above 0.
inline std::int64_t share_of(std::int64_t size, std::int64_t part, std::int64_t whole) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(size, part, &product)) return product / whole;  // several times as fast
  return static_cast<std::int64_t>(static_cast<__int128>(size) * part / whole);
}

}  // namespace hemiola
