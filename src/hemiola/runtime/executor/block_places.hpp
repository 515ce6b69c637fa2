// SPDX-License-Identifier: Apache-2.0
// Where the bytes of a buffer lie whose blocks have memory of their own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hemiola {

struct BlockPlaces {
  std::span<std::byte* const> memory;    ///< of each block
  std::span<const std::int64_t> begins;  ///< of each block in the buffer, with an end mark

  /// In the last block that begins there or before: blocks without bytes begin where the next one does.
  std::byte* at(std::int64_t offset) const {
    const auto after = std::upper_bound(begins.begin(), begins.end() - 1, offset);
    const auto block = static_cast<std::size_t>(after - begins.begin()) - 1;
    return memory[block] + (offset - begins[block]);
  }

  /// How many bytes lie side by side from the first on.
  std::int64_t bytes_of_first() const { return *std::upper_bound(begins.begin(), begins.end() - 1, 0); }
};

}  // namespace hemiola
