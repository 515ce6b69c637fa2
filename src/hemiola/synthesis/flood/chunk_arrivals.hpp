// SPDX-License-Identifier: Apache-2.0
// The order in which one rank received its chunks. Each of its outgoing channels reads the log through a
// cursor of its own; entries that all of them have passed are forgotten, so a long run needs only the window
// between slowest and fastest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hemiola::synthesis {

class ChunkArrivals {
 public:
  void append(std::uint32_t chunk) { entries_.push_back(chunk); }
  /// Appends `chunks` without those that equal `left_out`.
  void append(std::span<const std::uint32_t> chunks, std::uint32_t left_out) {
    if (entries_.capacity() - entries_.size() < chunks.size())
      entries_.reserve(2 * entries_.size() + chunks.size() + 64);
    for (const std::uint32_t chunk : chunks)
      if (chunk != left_out) entries_.push_back(chunk);
  }
  /// Position after the last entry; positions count from the beginning of time.
  std::uint32_t end() const { return forgotten_ + static_cast<std::uint32_t>(entries_.size()); }
  /// The entry at a position that is not forgotten; the following ones lie behind it.
  const std::uint32_t* at(std::uint32_t position) const { return entries_.data() + (position - forgotten_); }

  /// Whether the log has grown enough since it was last shortened to look for entries that may go.
  bool is_worth_forgetting() const { return entries_.size() >= looked_at_ + kPiece; }
  /// Nobody will read below `position` again.
  void forget_before(std::uint32_t position) {
    const std::size_t passed = position - forgotten_;
    looked_at_ = entries_.size();
    if (2 * passed < entries_.size()) return;
    entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(passed));
    if (entries_.capacity() > 2 * entries_.size() + kPiece) entries_.shrink_to_fit();
    forgotten_ = position;
    looked_at_ = entries_.size();
  }

 private:
  static constexpr std::size_t kPiece = 1024;

  std::vector<std::uint32_t> entries_;
  std::size_t looked_at_ = 0;  ///< size when last asked to forget
  std::uint32_t forgotten_ = 0;
};

}  // namespace hemiola::synthesis
