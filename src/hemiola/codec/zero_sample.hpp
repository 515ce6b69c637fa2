// SPDX-License-Identifier: Apache-2.0
// How much of an array is zero, from a look at some of its cache lines: the most that dense data should pay.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hemiola::codec {

struct ZeroCount {
  std::int64_t zeros = 0;
  std::int64_t elements = 0;  ///< looked at
};

inline constexpr std::size_t kMostSampledLines = 64;

/// Looks at up to `most_lines` cache lines, evenly spread; bytes behind the last whole line are not seen.
/// `element_bytes`: 1, 2, 4 or 8.
ZeroCount sample_zeros(const std::byte* elements, std::size_t bytes, std::size_t element_bytes,
                       std::size_t most_lines = kMostSampledLines);

}  // namespace hemiola::codec
