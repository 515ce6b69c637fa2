// SPDX-License-Identifier: Apache-2.0
#include "hemiola/codec/packed.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace hemiola::codec {

Segments::Segments(const Packed& packed, std::size_t log_bytes, const std::uint64_t* bitmap,
                   std::size_t words, std::size_t most_direct) {
  std::size_t end = words, copied = 0;  // values of the words from `end` on
  const std::size_t behind = packed.values.size() - (packed.count << log_bytes);
  while (end > 0 && (end > most_direct || behind + (copied << log_bytes) < kSlackBytes))
    copied += static_cast<std::size_t>(std::popcount(bitmap[--end]));
  const std::byte* last = packed.values.data() + ((packed.count - copied) << log_bytes);
  if (copied > 0) std::memcpy(copy_.data(), last, copied << log_bytes);
  std::memset(copy_.data() + (copied << log_bytes), 0, kSlackBytes);
  direct_ = {.values = packed.values.data(), .first = 0, .end = end};
  rest_ = {.values = copy_.data(), .first = end, .end = words};
}

void expand_packed(const Kernels& kernels, std::size_t log_bytes, const Packed& packed,
                   const std::uint64_t* bitmap, std::size_t words, std::byte* elements) {
  const Segments segments(packed, log_bytes, bitmap, words, words);
  for (const Segment& part : {segments.direct(), segments.rest()})
    kernels.expand[log_bytes](part.values, bitmap + part.first, part.end - part.first,
                              elements + (part.first * kWordElements << log_bytes));
}

}  // namespace hemiola::codec
