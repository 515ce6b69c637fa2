// Sorts a schedule's transfers by chunk, a range of chunks at a time, so that the sorted part stays within a given memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "hemiola/schedule/transfer_source.hpp"
#include "hemiola/verify/chunk_judge.hpp"

namespace hemiola {

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

class ChunkSorter {
 public:
  /// Counts the transfers of every chunk (one pass over the source). Throws ArgumentError when one chunk has 2^31 or more.
  ChunkSorter(const TransferSource& source, std::int64_t memory_bytes);

  /// Calls `visit` with ranges that cover all chunks in order; one pass over the source for each.
  void for_each_range(const std::function<void(const ChunkRange&)>& visit);

 private:
  int range_end(int first) const;
  void fill(ChunkRange* range, int end);

  const TransferSource& source_;
  std::int64_t memory_bytes_;
  std::vector<std::int64_t> count_;  ///< per chunk
};

}  // namespace hemiola
