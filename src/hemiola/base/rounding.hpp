// Whole units of memory: cache lines, pages.
#pragma once

namespace hemiola {

/// The least multiple of `unit` (above 0) that is not below `value` (at least 0).
template <typename T>
constexpr T rounded_up(T value, T unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace hemiola
