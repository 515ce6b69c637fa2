// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/index/rank_grid.hpp"

#include <utility>

namespace hemiola::algorithms {

RankGrid::RankGrid(std::vector<int> sizes) : sizes_(std::move(sizes)), rank_count_(1) {
  for (int size : sizes_) {
    stride_.push_back(rank_count_);
    rank_count_ *= size;
  }
}

Rank RankGrid::moved(Rank rank, int dimension, int value) const {
  const int wrapped = (value % size(dimension) + size(dimension)) % size(dimension);
  return Rank{rank + (wrapped - coordinate(rank, dimension)) * stride_[static_cast<std::size_t>(dimension)]};
}

std::vector<Rank> RankGrid::spanned(const std::vector<int>& dimensions) const {
  std::vector<Rank> ranks{Rank{0}};
  for (int dimension : dimensions) {
    std::vector<Rank> wider;
    for (Rank rank : ranks)
      for (int value = 0; value < size(dimension); ++value) wider.push_back(moved(rank, dimension, value));
    ranks = std::move(wider);
  }
  return ranks;
}

}  // namespace hemiola::algorithms
