// SPDX-License-Identifier: Apache-2.0
// Arithmetic on ranks that stand on a grid: rank = x0 + size0 * (x1 + size1 * (x2 + …)), as in topologies::grid.
#pragma once

#include <vector>

#include "hemiola/base/index.hpp"

namespace hemiola::algorithms {

class RankGrid {
 public:
  explicit RankGrid(std::vector<int> sizes);

  int rank_count() const { return rank_count_; }
  int dimension_count() const { return static_cast<int>(sizes_.size()); }
  int size(int dimension) const { return sizes_[static_cast<std::size_t>(dimension)]; }
  int coordinate(Rank rank, int dimension) const {
    return rank / stride_[static_cast<std::size_t>(dimension)] % size(dimension);
  }
  /// The rank whose coordinate in that dimension is `value` modulo its size; the other coordinates stay.
  Rank moved(Rank rank, int dimension, int value) const;
  /// The ranks with coordinates of their own in these dimensions only, and 0 in all others.
  std::vector<Rank> spanned(const std::vector<int>& dimensions) const;

 private:
  std::vector<int> sizes_;
  std::vector<int> stride_;
  int rank_count_;
};

}  // namespace hemiola::algorithms
