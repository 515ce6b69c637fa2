// SPDX-License-Identifier: Apache-2.0
// The ranks in blocks such that channels join only ranks of the same block or of neighbouring ones: consecutive
// levels of a breadth-first search. A block's next state in one tick then depends on three blocks in the tick
// before.
#pragma once

#include <span>
#include <vector>

#include "hemiola/synthesis/network/channels.hpp"

namespace hemiola::synthesis {

class RankBlocks {
 public:
  /// Blocks of at least `least_size` ranks, but for the last of each connected part.
  RankBlocks(const Channels& channels, int least_size);

  int count() const { return static_cast<int>(begin_.size()) - 1; }
  std::span<const Rank> operator[](int block) const {
    const auto b = static_cast<std::size_t>(block);
    return {order_.data() + begin_[b], order_.data() + begin_[b + 1]};
  }

 private:
  std::vector<Rank> order_;
  std::vector<std::size_t> begin_;
};

}  // namespace hemiola::synthesis
