// SPDX-License-Identifier: Apache-2.0
// Packed values, expanded without reading outside of their memory: kernels read whole vectors, so the last
// few values are expanded from a copy that has room behind it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hemiola/codec/kernels/kernels.hpp"

namespace hemiola::codec {

/// Values one after the other, and the readable bytes behind them.
struct Packed {
  std::span<const std::byte> values;
  std::size_t count = 0;  ///< as many as bits are set in their bitmap
};

/// A part of a bitmap with the values that belong to it, which any kernel may expand.
struct Segment {
  const std::byte* values = nullptr;
  std::size_t first = 0, end = 0;  ///< words of the bitmap
};

/// The two parts of a bitmap: values where they lie, and the last ones from a copy.
class Segments {
 public:
  /// Values of `1 << log_bytes` bytes; words of the bitmap from `most_direct` on belong to the second part anyhow, and may
  /// be one.
  Segments(const Packed& packed, std::size_t log_bytes, const std::uint64_t* bitmap, std::size_t words,
           std::size_t most_direct);
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;

  const Segment& direct() const { return direct_; }
  const Segment& rest() const { return rest_; }

 private:
  static constexpr std::size_t kMostBytes = kWordElements * 8;  // of one word
  Segment direct_, rest_;
  std::array<std::byte, kSlackBytes + kMostBytes + kSlackBytes> copy_;
};

/// Writes 64·words elements of `1 << log_bytes` bytes.
void expand_packed(const Kernels& kernels, std::size_t log_bytes, const Packed& packed,
                   const std::uint64_t* bitmap, std::size_t words, std::byte* elements);

}  // namespace hemiola::codec
