// SPDX-License-Identifier: Apache-2.0
// A part in a 2 × 2 grid, order x, y; entries are the owners whose chunks a rank still reduces (outwards) or has
// complete (back):
//
//                        rank 00   rank 10   rank 01   rank 11
//   before               all       all       all       all
//   out along x          00 01     10 11     00 01     10 11       half of the part each
//   out along y          00        10        01        11          a quarter: what the rank owns
//   back along y         00 01     10 11     00 01     10 11
//   back along x         all       all       all       all
#include "hemiola/algorithms/topology/grid_phase.hpp"

#include <algorithm>
#include <utility>

#include "hemiola/algorithms/topology/grid_dimensions.hpp"

namespace hemiola::algorithms {
namespace {

using topologies::Dimension;
using topologies::Wires;

bool is_ring(const Dimension& dimension) {
  return dimension.wires == Wires::ring || dimension.wires == Wires::line;
}

/// The ring algorithm, in coordinates of one dimension: the chunk that rank x passes on in an exchange, to x
/// + direction.
int ring_value(int x, int exchange, int direction, bool gathers) {
  return x - direction * (gathers ? exchange : exchange + 1);
}

/// The owners whose chunks make up one message: they agree with the sender in the dimensions before the phase's,
/// have `value` in the phase's own, and stand anywhere in those after it.
class Shards {
 public:
  Shards(const RankGrid& grid, const GridPhase& phase)
      : grid_(grid),
        dimension_(phase.dimension()),
        after_(phase.order.begin() + phase.position + 1, phase.order.end()),
        offsets_(grid.spanned(after_)) {}

  template <typename Visit>
  void for_each_owner(Rank sender, int value, Visit visit) const {
    Rank base = grid_.moved(sender, dimension_, value);
    for (int dimension : after_) base = grid_.moved(base, dimension, 0);
    for (Rank offset : offsets_) visit(Rank{base + offset});
  }

 private:
  const RankGrid& grid_;
  int dimension_;
  std::vector<int> after_;
  std::vector<Rank> offsets_;
};

}  // namespace

GridPhases::GridPhases(std::vector<Dimension> dimensions, int part_count)
    : dimensions_(std::move(dimensions)),
      grid_(sizes_of(dimensions_)),
      part_count_(part_count),
      lane_count_(std::any_of(dimensions_.begin(), dimensions_.end(), is_ring) ? 2 : 1) {}

bool GridPhases::uses_ring(const GridPhase& phase) const {
  return is_ring(dimension(phase));
}

int GridPhases::step_count(const GridPhase& phase) const {
  const int size = dimension(phase).size;
  return uses_ring(phase) ? size - 1 : std::min(size - 1, 1);
}

LinkTime GridPhases::exchange_time(const GridPhase& phase, std::int64_t part_bytes) const {
  const Dimension& d = dimension(phase);
  std::int64_t bytes = part_bytes;
  for (int before = 0; before < phase.position; ++before)
    bytes /= grid_.size(phase.order[static_cast<std::size_t>(before)]);
  bytes /= d.size;                                      // to one peer
  if (uses_ring(phase) && d.size > 2) bytes /= 2;       // each way round; a ring of two has one way
  if (d.wires == Wires::switched) bytes *= d.size - 1;  // to all peers through one port
  const Picoseconds busy = serialization_time(bytes, d.cost.bandwidth_Bps);
  // At least 1 ps, so that exchanges which depend on each other never share a step.
  return {busy, std::max(busy + d.cost.latency, Picoseconds{1})};
}

void GridPhases::add_exchange(ScheduleBuilder* builder, const GridPhase& phase, int exchange,
                              Step step) const {
  const int d = phase.dimension();
  const Shards shards(grid_, phase);
  const auto send = [&](Rank src, Rank dst, int value, int lane) {
    shards.for_each_owner(src, value, [&](Rank owner) {
      builder->add({step, src, dst, chunk(owner, phase.part, lane), !phase.gathers});
    });
  };
  for (int lane = 0; lane < lane_count_; ++lane)
    for (Rank rank : indices<Rank>(grid_.rank_count())) {
      const int x = grid_.coordinate(rank, d);
      if (uses_ring(phase)) {
        const int direction = lane == 0 ? +1 : -1;
        send(rank, grid_.moved(rank, d, x + direction), ring_value(x, exchange, direction, phase.gathers),
             lane);
        continue;
      }
      for (int hop = 1; hop < grid_.size(d); ++hop)
        send(rank, grid_.moved(rank, d, x + hop), phase.gathers ? x : x + hop, lane);
    }
}

}  // namespace hemiola::algorithms
