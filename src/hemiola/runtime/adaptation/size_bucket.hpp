// SPDX-License-Identifier: Apache-2.0
// Sizes of operations that are noted together: those up to the same power of two.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace hemiola {

constexpr std::size_t kSizeBuckets = 65;

constexpr std::size_t size_bucket(std::int64_t bytes) {
  return static_cast<std::size_t>(
      std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 1) - 1)));
}

}  // namespace hemiola
