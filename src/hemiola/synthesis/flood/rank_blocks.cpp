// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/flood/rank_blocks.hpp"

namespace hemiola::synthesis {

RankBlocks::RankBlocks(const Channels& channels, int least_size) : begin_{0} {
  std::vector<bool> seen(static_cast<std::size_t>(channels.rank_count()), false);
  const auto visit = [&](Rank rank) {
    if (seen[static_cast<std::size_t>(rank)]) return;
    seen[static_cast<std::size_t>(rank)] = true;
    order_.push_back(rank);
  };
  const auto close_block = [&] {
    if (order_.size() > begin_.back()) begin_.push_back(order_.size());
  };
  for (Rank start : indices<Rank>(channels.rank_count())) {
    std::size_t level_begin = order_.size();
    visit(start);
    while (level_begin < order_.size()) {
      const std::size_t level_end = order_.size();
      if (level_end - begin_.back() >= static_cast<std::size_t>(least_size)) close_block();
      for (std::size_t i = level_begin; i < level_end; ++i) {
        const Rank rank = order_[i];
        for (std::uint32_t c = channels.first_out(rank); c < channels.first_out(rank + 1); ++c)
          visit(channels[c].dst);
        for (const std::uint32_t c : channels.into(rank)) visit(channels[c].src);
      }
      level_begin = level_end;
    }
    close_block();
  }
}

}  // namespace hemiola::synthesis
