// SPDX-License-Identifier: Apache-2.0
#include "hemiola/schedule/chunk_sorter.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/base/heedful.hpp"

namespace hemiola {

ChunkSorter::ChunkSorter(const TransferSource& source, std::int64_t range_bytes)
    : source_(source), count_(static_cast<std::size_t>(source.collective().chunk_count())) {
  source_.visit_blocks([&](const TransferBlock& block) {
    for (std::uint32_t chunk : block.chunk) ++count_[chunk];
  });
  for (std::size_t c = 0; c < count_.size(); ++c)
    if (count_[c] > std::numeric_limits<std::int32_t>::max() - Collective::kMaxRanks)
      throw ArgumentError("schedule: expected fewer than 2^31 - 2^20 transfers of a chunk, found " +
                          std::to_string(count_[c]) + " of chunk " + std::to_string(c));
  split(range_bytes);
}

/// The fewest ranges that keep the limit, all of about the same size.
void ChunkSorter::split(std::int64_t range_bytes) {
  const auto bytes_of = [&](int chunk) {
    return static_cast<double>(sizeof(ChunkTransfer)) *
           static_cast<double>(count_[static_cast<std::size_t>(chunk)]);
  };
  const int chunk_count = static_cast<int>(count_.size());
  double all = 0, before = 0;
  for (int c = 0; c < chunk_count; ++c) all += bytes_of(c);
  const double range_count = std::ceil(all / static_cast<double>(std::max<std::int64_t>(range_bytes, 1)));
  range_begin_ = {0};
  for (int c = 0; c + 1 < chunk_count; ++c) {
    before += bytes_of(c);
    const auto ranges = static_cast<double>(range_begin_.size());
    if (ranges < range_count && before >= all * ranges / range_count) range_begin_.push_back(c + 1);
  }
  range_begin_.push_back(chunk_count);
}

/// A counting sort; stable, so the order of steps survives within a chunk.
void ChunkSorter::load(int range_index, ChunkRange* range, const std::function<void()>& at_block) const {
  const auto first = static_cast<std::uint32_t>(range_begin_[static_cast<std::size_t>(range_index)]);
  const auto end = static_cast<std::uint32_t>(range_begin_[static_cast<std::size_t>(range_index) + 1]);
  const std::uint32_t chunk_count = end - first;
  range->first_ = Chunk{first};
  range->offset_.assign(chunk_count + 1, 0);
  for (std::uint32_t c = 0; c < chunk_count; ++c)
    range->offset_[c + 1] = range->offset_[c] + count_[first + c];
  heedful_resize(&range->transfers_, static_cast<std::size_t>(range->offset_.back()));
  std::vector<std::int64_t> next(range->offset_.begin(), range->offset_.end() - 1);
  const std::span<const RankPair> pairs = source_.pairs();
  const int ranks = source_.collective().rank_count();
  source_.visit_blocks([&](const TransferBlock& block) {
    at_block();
    for_heedful_blocks(block.chunk.size(), [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) {
        const std::uint32_t c = block.chunk[i] - first;
        if (c >= chunk_count) continue;  // also those before `first`: the difference wraps around
        const RankPair pair = pairs[block.link[i]];
        range->transfers_[static_cast<std::size_t>(next[c]++)] = {
            block.step, Rank{pair.src + pair.src_slot * ranks}, Rank{pair.dst + pair.dst_slot * ranks},
            block.reduces(i)};
      }
    });
  });
}

}  // namespace hemiola
