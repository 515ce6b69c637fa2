// SPDX-License-Identifier: Apache-2.0
// How many trees each link can carry: a small dense graph of whole capacities.
#pragma once

#include <cstdint>
#include <vector>

namespace hemiola::synthesis {

/// Per rank, how many trees it is the root of.
using TreesFrom = std::vector<std::int64_t>;

class CapacityGraph {
 public:
  CapacityGraph(int rank_count, int vertex_count)
      : rank_count_(rank_count),
        vertex_count_(vertex_count),
        capacity_(static_cast<std::size_t>(vertex_count) * static_cast<std::size_t>(vertex_count), 0) {}

  int rank_count() const { return rank_count_; }  ///< vertices 0 … rank_count-1; the others are switches
  int vertex_count() const { return vertex_count_; }
  std::int64_t& at(int from, int to) { return capacity_[index(from, to)]; }
  std::int64_t at(int from, int to) const { return capacity_[index(from, to)]; }

  /// How much less than all trees flows to the rank that gets least, where every rank sends out as many as start there:
  /// 0 says that so many spanning out-trees fit [edmonds1973; tarjan1974; ForestColl, §5].
  std::int64_t shortfall(const TreesFrom& trees) const;

 private:
  std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(vertex_count_) +
           static_cast<std::size_t>(to);
  }
  int rank_count_, vertex_count_;
  std::vector<std::int64_t> capacity_;
};

}  // namespace hemiola::synthesis
