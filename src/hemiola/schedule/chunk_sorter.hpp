// SPDX-License-Identifier: Apache-2.0
// Sorts a schedule's transfers by chunk, a range of chunks at a time, so that the sorted part stays within a
// given memory. Chunks do not affect each other: code that follows data through a schedule does it chunk by
// chunk.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "hemiola/schedule/transfer_source.hpp"

namespace hemiola {

/// A transfer of a chunk that is known from the context, in 12 bytes. Its ends are the chunk's slots, numbered so that those
/// of the buffer have their ranks' numbers: slot k of rank r is number r + k * rank_count.
struct ChunkTransfer {
  ChunkTransfer() = default;
  ChunkTransfer(Step step, Rank src, Rank dst, bool reduce)
      : step_(step), src_(src), dst_and_reduce_(static_cast<std::uint32_t>(dst) << 1 | (reduce ? 1u : 0u)) {}

  Step step() const { return Step{step_}; }
  Rank src() const { return Rank{src_}; }
  Rank dst() const { return Rank{dst_and_reduce_ >> 1}; }
  bool reduce() const { return (dst_and_reduce_ & 1) != 0; }

 private:
  std::int32_t step_ = 0;
  std::int32_t src_ = 0;
  std::uint32_t dst_and_reduce_ = 0;
};

/// Consecutive chunks with their transfers, each chunk's in step order.
class ChunkRange {
 public:
  Chunk first() const { return first_; }
  int count() const { return static_cast<int>(offset_.size()) - 1; }
  std::span<const ChunkTransfer> transfers_of(Chunk chunk) const {
    const auto c = static_cast<std::size_t>(chunk - first_);
    return std::span(transfers_)
        .subspan(static_cast<std::size_t>(offset_[c]), static_cast<std::size_t>(offset_[c + 1] - offset_[c]));
  }

 private:
  friend class ChunkSorter;
  Chunk first_{0};
  std::vector<std::int64_t> offset_;
  std::vector<ChunkTransfer> transfers_;
};

/// Splits the chunks into ranges and sorts one range at a time. Several threads may load ranges at once.
class ChunkSorter {
 public:
  /// Counts the transfers of every chunk (one pass over the source, which must outlive the sorter). A range
  /// takes at most `range_bytes` and one chunk more. Throws ArgumentError when one chunk has too many
  /// transfers to number them in 31 bits.
  ChunkSorter(const TransferSource& source, std::int64_t range_bytes);

  int range_count() const { return static_cast<int>(range_begin_.size()) - 1; }
  /// Sorts the transfers of a range, in one pass over the source; calls `at_block` for every block that it
  /// reads.
  void load(int range_index, ChunkRange* range, const std::function<void()>& at_block = [] {}) const;

 private:
  void split(std::int64_t range_bytes);

  const TransferSource& source_;
  std::vector<std::int64_t> count_;  ///< per chunk
  std::vector<int> range_begin_;     ///< range r is chunks [range_begin[r], range_begin[r+1])
};

}  // namespace hemiola
