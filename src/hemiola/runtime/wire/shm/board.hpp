// SPDX-License-Identifier: Apache-2.0
// The memory in which a rank writes once what it sends to several peers, each of which reads it there. This is the writer's
// account of it; how much of a message is there, and that a reader is done with it, stands in the channel to each reader.
#pragma once

#include <array>
#include <cstddef>

#include "hemiola/base/plain_copy.hpp"
#include "hemiola/base/rounding.hpp"

namespace hemiola {

/// Of each rank. Longer messages are fetched at the same cost.
inline constexpr std::size_t kBoardBytes = 1 << 20;
/// From this size on a message is worth the line that says where it is.
inline constexpr std::size_t kLeastPosted = 4 << 10;

/// A message on the board.
struct Notice {
  std::size_t offset;   ///< on the board
  std::size_t written;  ///< bytes, so far
  int readers;          ///< that have not read it all
};

class Board {
 public:
  explicit Board(std::byte* memory) : memory_(memory) {}

  /// Room for a message; null while there is none. Notices stay where they are until nobody reads any of them.
  Notice* reserve(std::size_t bytes) {
    while (count_ > 0 && notices_[count_ - 1].readers == 0) end_ = notices_[--count_].offset;
    if (count_ == notices_.size() || bytes > kBoardBytes - end_) return nullptr;
    notices_[count_] = {.offset = end_, .written = 0, .readers = 0};
    end_ += rounded_up(bytes, kStoreLine);
    return &notices_[count_++];
  }
  void clear() { count_ = end_ = 0; }

  /// Writes the next `bytes` of a message.
  void write(Notice* notice, const std::byte* from, std::size_t bytes) {
    plain_copy(memory_ + notice->offset + notice->written, from, bytes);
    notice->written += bytes;
  }

 private:
  std::byte* memory_;
  std::array<Notice, 64> notices_;
  std::size_t count_ = 0;
  std::size_t end_ = 0;
};

}  // namespace hemiola
