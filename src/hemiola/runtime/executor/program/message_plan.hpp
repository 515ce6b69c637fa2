// SPDX-License-Identifier: Apache-2.0
// Which of a rank's transfers travel together as one message, and in which order. Both ends of a pair derive the same
// messages, because the rules look only at their common knowledge: the schedule and the chunk sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/runtime/executor/program/buffer_layout.hpp"
#include "hemiola/runtime/executor/program/rank_part.hpp"
#include "hemiola/runtime/wire/wire_traits.hpp"

namespace hemiola {

/// How a chunk is cut. Slices are a multiple of a cache line, except the last.
struct Slicing {
  std::int32_t count = 1;
  std::int64_t bytes = 0;  ///< of each slice but the last

  std::int64_t begin(std::int32_t slice) const { return slice * bytes; }
  std::int64_t size(std::int32_t slice, std::int64_t chunk_bytes) const {
    return slice + 1 == count ? chunk_bytes - begin(slice) : bytes;
  }
};
Slicing slicing_of(std::int64_t chunk_bytes, std::int64_t slice_bytes);

/// One message, or as many as the chunk has slices; or, where the peer is the rank itself, a transfer within it, which is
/// none.
struct Message {
  Step step;
  Rank peer;
  bool sending = false;
  bool reduce = false;
  std::int32_t first_transfer = 0;  ///< consecutive in the rank's part
  std::int32_t transfer_count = 0;
  std::int32_t slice_count = 1;
};

/// By step; in a step first the sends, beginning with the next higher rank (so that ranks with the same pattern do not
/// all turn to rank 0 first), then the receives, by rank, the rank's own transfers within it among them. Messages
/// without bytes are left out.
std::vector<Message> plan_messages(const RankPart& part, const BufferLayout& layout,
                                   const MessageRules& rules);

}  // namespace hemiola
