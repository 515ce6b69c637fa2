// SPDX-License-Identifier: Apache-2.0
// One phase of an all-reduce on a grid: the reduce-scatter or all-gather of one part of the buffer along one
// dimension. Lines and rings use the ring algorithm, half of the part each way round; all pairs and switches
// exchange directly.
#pragma once

#include <vector>

#include "hemiola/algorithms/index/rank_grid.hpp"
#include "hemiola/schedule/schedule.hpp"
#include "hemiola/topology/builders/grid.hpp"

namespace hemiola::algorithms {

/// Where a part is on its way: in dimension order[position], outwards (reducing) or back (gathering).
struct GridPhase {
  int part;
  std::vector<int> order;
  int position;
  bool gathers;

  int dimension() const { return order[static_cast<std::size_t>(position)]; }
};

/// How long an exchange keeps its links, and when its last byte arrives.
struct LinkTime {
  Picoseconds busy;
  Picoseconds arrival;
};

/// Knows how the parts' chunks lie and the sends of a phase. A part has one chunk per owner and lane; lane 0
/// goes up the rings, lane 1 down; without rings there is one lane.
class GridPhases {
 public:
  GridPhases(std::vector<topologies::Dimension> dimensions, int part_count);

  const RankGrid& grid() const { return grid_; }
  int lane_count() const { return lane_count_; }
  int chunk_count() const { return grid_.rank_count() * part_count_ * lane_count_; }
  Chunk chunk(Rank owner, int part, int lane) const {
    return Chunk{(owner * part_count_ + part) * lane_count_ + lane};
  }

  /// Exchanges that follow each other in the phase; 0 in a dimension of one rank.
  int step_count(const GridPhase& phase) const;
  LinkTime exchange_time(const GridPhase& phase, std::int64_t part_bytes) const;
  void add_exchange(ScheduleBuilder* builder, const GridPhase& phase, int exchange, Step step) const;

 private:
  bool uses_ring(const GridPhase& phase) const;
  const topologies::Dimension& dimension(const GridPhase& phase) const {
    return dimensions_[static_cast<std::size_t>(phase.dimension())];
  }

  std::vector<topologies::Dimension> dimensions_;
  RankGrid grid_;
  int part_count_;
  int lane_count_;
};

}  // namespace hemiola::algorithms
