#include "hemiola/schedule/chunk_sorter.hpp"

#include <limits>
#include <string>

#include "hemiola/base/error.hpp"

namespace hemiola {

ChunkSorter::ChunkSorter(const TransferSource& source, std::int64_t memory_bytes)
    : source_(source),
      memory_bytes_(memory_bytes),
      count_(static_cast<std::size_t>(source.collective().chunk_count())) {
  source_.visit_blocks([&](const TransferBlock& block) {
    for (std::uint32_t chunk : block.chunk) ++count_[chunk];
  });
  for (std::size_t c = 0; c < count_.size(); ++c)
    if (count_[c] > std::numeric_limits<std::int32_t>::max() - Collective::kMaxRanks)
      throw ArgumentError("schedule: expected fewer than 2^31 - 2^20 transfers of a chunk, found " +
                          std::to_string(count_[c]) + " of chunk " + std::to_string(c));
}

/// As many chunks as fit, but at least one.
int ChunkSorter::range_end(int first) const {
  std::int64_t bytes = 0;
  int end = first;
  for (; end < static_cast<int>(count_.size()); ++end) {
    bytes += count_[static_cast<std::size_t>(end)] * static_cast<std::int64_t>(sizeof(ChunkTransfer));
    if (bytes > memory_bytes_ && end > first) break;
  }
  return end;
}

void ChunkSorter::for_each_range(const std::function<void(const ChunkRange&)>& visit) {
  ChunkRange range;
  for (int first = 0; first < static_cast<int>(count_.size()); first += range.count()) {
    range.first_ = Chunk{first};
    fill(&range, range_end(first));
    visit(range);
  }
}

/// A counting sort; stable, so the order of steps survives within a chunk.
void ChunkSorter::fill(ChunkRange* range, int end) {
  const auto first = static_cast<std::uint32_t>(range->first_);
  const std::uint32_t chunk_count = static_cast<std::uint32_t>(end) - first;
  range->offset_.assign(chunk_count + 1, 0);
  for (std::uint32_t c = 0; c < chunk_count; ++c)
    range->offset_[c + 1] = range->offset_[c] + count_[first + c];
  range->transfers_.resize(static_cast<std::size_t>(range->offset_.back()));
  std::vector<std::int64_t> next(range->offset_.begin(), range->offset_.end() - 1);
  const std::span<const RankPair> pairs = source_.pairs();
  source_.visit_blocks([&](const TransferBlock& block) {
    for (std::size_t i = 0; i < block.chunk.size(); ++i) {
      const std::uint32_t c = block.chunk[i] - first;
      if (c >= chunk_count) continue;  // also those before `first`: the difference wraps around
      const RankPair pair = pairs[block.link[i]];
      range->transfers_[static_cast<std::size_t>(next[c]++)] = {block.step, pair.src, pair.dst,
                                                                block.reduces(i)};
    }
  });
}

}  // namespace hemiola
