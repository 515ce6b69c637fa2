// SPDX-License-Identifier: Apache-2.0
// A row of three ranks behind a switch; x0 is rank 0's buffer. Entries are the contents of rank 0's slots after:
//
//              buffer     scratch 1   scratch 2   scratch 3
//   exchange   x0         x0          x1          x2
//   sum        x0         x0+x1+x2    x1          x2
//   back       x0+x1+x2
//
// The next dimension exchanges these sums. Two ranks add what they get to what they have, without scratch. In a row that
// is a ring or a line, buffers are passed on from neighbour to neighbour, both ways.
#include "hemiola/algorithms/topology/recursive_multiplying.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include "hemiola/algorithms/index/rank_grid.hpp"
#include "hemiola/algorithms/topology/grid_dimensions.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/topology/builders/dimensions.hpp"

namespace hemiola::algorithms {
namespace {

using topologies::Dimension;
using topologies::Wires;

constexpr const char* kName = "all_reduce_recursive_multiplying";

bool passes_on(const Dimension& dimension) {
  return dimension.wires == Wires::ring || dimension.wires == Wires::line;
}

/// Part p's dimensions in its order.
std::vector<int> order_of(int part, int dimension_count) {
  std::vector<int> order(static_cast<std::size_t>(dimension_count));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + part % dimension_count, order.end());
  return order;
}

/// The ring algorithm, in coordinates of one dimension: the block that the rank at x passes on, to x + direction.
int ring_value(int x, int exchange, int direction, bool gathers) {
  return x - direction * (gathers ? exchange : exchange + 1);
}

/// How many ranks' buffers go up and down a row, and how many of them lie on the way of one.
struct Reach {
  int up, down;
};
Reach reach_of(const Dimension& dimension, int lane) {
  const int others = dimension.size - 1;
  if (dimension.wires == Wires::line) return {others, others};
  return lane == 0 ? Reach{(others + 1) / 2, others / 2} : Reach{others / 2, (others + 1) / 2};
}

/// A part of the buffer on its way through the dimensions. Its blocks are numbered by the coordinates of the ranks that
/// hold them alone once it is scattered. On rings it has two lanes, which go round in opposite directions.
class PartWay {
 public:
  PartWay(const MultipliedGrid& told, const RankGrid& grid, int part, int lane)
      : told_(told),
        grid_(grid),
        order_(order_of(part, grid.dimension_count())),
        lane_(lane),
        blocks_(scattered_sizes()) {}

  int block_count() const { return blocks_.rank_count(); }

  std::int64_t transfer_count() const {
    const std::int64_t n = grid_.rank_count();
    std::int64_t count = 0, blocks = block_count();
    for (int at = 0; at < grid_.dimension_count(); ++at) {
      const int size = grid_.size(order_[static_cast<std::size_t>(at)]);
      if (at < told_.scattered) {
        blocks /= size;
        count += 2 * n * (size - 1) * blocks;
      } else if (size > 1) {
        count += size == 2 ? n : 2 * n * size;  // aside and back, to all others, and as many additions
      }
    }
    return count;
  }

  /// Calls visit(transfer) for all transfers; its chunks begin at `first`.
  template <typename Visit>
  void for_each(int first, Visit visit) const {
    int step = 0, slot = 1;
    const auto numbered = [&](int at, Rank src, Rank dst, int block, bool reduces, int from, int to) {
      visit(Transfer{Step{at}, src, dst, Chunk{first + block}, reduces, from, to});
    };
    for (int at = 0; at < told_.scattered; ++at) step = move(at, false, step, numbered);
    for (int at = told_.scattered; at < grid_.dimension_count(); ++at)
      step = exchange(order_[static_cast<std::size_t>(at)], step, &slot, numbered);
    for (int at = told_.scattered - 1; at >= 0; --at) step = move(at, true, step, numbered);
  }

 private:
  std::vector<int> scattered_sizes() const {
    std::vector<int> sizes;
    for (int at = 0; at < told_.scattered; ++at)
      sizes.push_back(grid_.size(order_[static_cast<std::size_t>(at)]));
    return sizes;
  }
  const Dimension& dimension(int d) const { return told_.dimensions[static_cast<std::size_t>(d)]; }
  int coordinate(Rank rank, int at) const {
    return grid_.coordinate(rank, order_[static_cast<std::size_t>(at)]);
  }

  /// Calls visit(block) for the blocks that a rank holds once the part is scattered along the first `count` dimensions.
  template <typename Visit>
  void for_each_held(Rank rank, int count, Visit visit) const {
    for (Rank block : indices<Rank>(block_count())) {
      bool is_held = true;
      for (int at = 0; at < count; ++at)
        is_held = is_held && blocks_.coordinate(block, at) == coordinate(rank, at);
      if (is_held) visit(block);
    }
  }

  /// Scatters or gathers along the dimension at a place of the order; returns the next step.
  template <typename Add>
  int move(int at, bool gathers, int step, Add add) const {
    const int d = order_[static_cast<std::size_t>(at)], size = grid_.size(d),
              direction = lane_ == 0 ? +1 : -1;
    const auto send = [&](int when, Rank src, int to, int value) {
      for_each_held(src, at, [&](Rank block) {
        if (blocks_.coordinate(block, at) == (value % size + size) % size)
          add(when, src, grid_.moved(src, d, to), block, !gathers, 0, 0);
      });
    };
    const int steps = passes_on(dimension(d)) ? size - 1 : std::min(size - 1, 1);
    for (Rank rank : indices<Rank>(grid_.rank_count()))
      for (int hop = 0; hop < size - 1; ++hop) {
        const int x = grid_.coordinate(rank, d), peer = (x + hop + 1) % size;
        if (passes_on(dimension(d)))
          send(step + hop, rank, x + direction, ring_value(x, hop, direction, gathers));
        else
          send(step, rank, peer, gathers ? x : peer);
      }
    return step + steps;
  }

  /// All ranks of a row tell each other their buffers, and add; returns the next step. `slot`: the next scratch slot.
  template <typename Add>
  int exchange(int d, int step, int* slot, Add add) const {
    const int size = grid_.size(d), first = *slot;
    if (size == 1) return step;
    if (size > 2) *slot += size;
    int end = step;
    for (Rank rank : indices<Rank>(grid_.rank_count()))
      for_each_held(rank, told_.scattered, [&](Rank block) {
        if (size == 2) {
          add(step, rank, grid_.moved(rank, d, 1 - grid_.coordinate(rank, d)), block, true, 0, 0);
          end = step + 1;
        } else {
          end = add_up(rank, block, {d, step, first}, add);
        }
      });
    return end;
  }

  struct Row {
    int dimension, step, slot;  ///< slot of the rank at coordinate 0
  };

  template <typename Add>
  int add_up(Rank rank, Rank block, Row row, Add add) const {
    const int d = row.dimension, size = grid_.size(d), x = grid_.coordinate(rank, d);
    add(row.step, rank, rank, block, false, 0, row.slot + x);
    int hops = 1;
    const auto send = [&](int hop, int to, int of) {
      of = (of % size + size) % size;
      add(row.step + hop, rank, grid_.moved(rank, d, to), block, false, hop == 0 ? 0 : row.slot + of,
          row.slot + of);
      hops = std::max(hops, hop + 1);
    };
    if (passes_on(dimension(d))) {
      const Reach reach = reach_of(dimension(d), lane_);
      const bool is_line = dimension(d).wires == Wires::line;
      for (int hop = 0; hop < reach.up; ++hop)
        if (!is_line || (x - hop >= 0 && x + 1 < size)) send(hop, x + 1, x - hop);
      for (int hop = 0; hop < reach.down; ++hop)
        if (!is_line || (x + hop < size && x >= 1)) send(hop, x - 1, x + hop);
      hops = std::max(reach.up, reach.down);
    } else {
      for (int ahead = 1; ahead < size; ++ahead) send(0, x + ahead, x);
    }
    const int sum = row.step + hops;
    for (int other = 1; other < size; ++other) add(sum, rank, rank, block, true, row.slot + other, row.slot);
    add(sum + 1, rank, rank, block, false, row.slot, 0);
    return sum + 2;
  }

  const MultipliedGrid& told_;
  const RankGrid& grid_;
  std::vector<int> order_;
  int lane_;
  RankGrid blocks_;
};

void check(const MultipliedGrid& told) {
  check_dimensions(kName, told.dimensions);
  const int count = static_cast<int>(told.dimensions.size());
  if (told.scattered < 0 || told.scattered > count)
    throw ArgumentError(std::string(kName) + ": expected 0 … " + std::to_string(count) +
                        " scattered dimensions, found " + std::to_string(told.scattered));
  if (told.parts < 1 || told.parts > count)
    throw ArgumentError(std::string(kName) + ": expected 1 … " + std::to_string(count) +
                        " parts, as many as dimensions at most, found " + std::to_string(told.parts));
  std::int64_t slots = 1, ranks = 1;
  for (const Dimension& dimension : told.dimensions) {
    slots += dimension.size;
    ranks *= dimension.size;
  }
  if (slots * ranks > ScheduleBuilder::kMaxSlots)
    throw ArgumentError(std::string(kName) + ": expected at most " +
                        std::to_string(ScheduleBuilder::kMaxSlots) +
                        " slots of all ranks, a scratch slot for each rank of a row; found " +
                        std::to_string(slots * ranks) + "; split a dimension into two");
}

std::vector<PartWay> ways_of(const MultipliedGrid& told, const RankGrid& grid) {
  const auto has_lanes = [](const Dimension& d) { return d.wires == Wires::ring && d.size > 2; };
  const int lanes = std::any_of(told.dimensions.begin(), told.dimensions.end(), has_lanes) ? 2 : 1;
  std::vector<PartWay> ways;
  for (int part = 0; part < told.parts; ++part)
    for (int lane = 0; lane < lanes; ++lane) ways.emplace_back(told, grid, part, lane);
  return ways;
}

/// Parts are alike, their blocks not where dimensions differ.
std::vector<std::int64_t> weights_of(const std::vector<PartWay>& ways) {
  std::int64_t multiple = 1;
  for (const PartWay& way : ways) multiple = std::lcm(multiple, std::int64_t{way.block_count()});
  std::vector<std::int64_t> weights;
  for (const PartWay& way : ways)
    weights.insert(weights.end(), static_cast<std::size_t>(way.block_count()), multiple / way.block_count());
  return weights;
}

}  // namespace

std::int64_t recursive_multiplying_transfers(const MultipliedGrid& told) {
  check(told);
  const RankGrid grid(sizes_of(told.dimensions));
  std::int64_t count = 0;
  for (const PartWay& way : ways_of(told, grid)) count += way.transfer_count();
  return count;
}

Schedule all_reduce_recursive_multiplying(const MultipliedGrid& told) {
  const std::int64_t count = recursive_multiplying_transfers(told);
  if (count > Algorithm::kMaxTransfers)
    throw ArgumentError(std::string(kName) + ": " + std::to_string(count) + " transfers, expected at most " +
                        std::to_string(Algorithm::kMaxTransfers) + "; scatter fewer dimensions");
  const RankGrid grid(sizes_of(told.dimensions));
  const std::vector<PartWay> ways = ways_of(told, grid);
  const std::vector<std::int64_t> weights = weights_of(ways);
  ScheduleBuilder builder(Collective::with_owners(CollectiveKind::all_reduce, grid.rank_count(),
                                                  std::vector<Rank>(weights.size(), Rank{0})));
  if (std::adjacent_find(weights.begin(), weights.end(), std::not_equal_to<>()) != weights.end())
    builder.set_chunk_weights(weights);
  int first = 0;
  for (const PartWay& way : ways) {
    way.for_each(first, [&](const Transfer& transfer) { builder.add(transfer); });
    first += way.block_count();
  }
  return builder.finish();
}

namespace {

constexpr const char* kParameters = R"(

Parameters
----------
dims, wires : as hemiola.topologies.grid takes them. The product of the sizes is the rank count; a dimension behind one
    switch may stand as several factors of its size, each of them a "switch".
scattered : int, 0 … dimensions, how many of its dimensions a part is reduce-scattered along before, and all-gathered
    along after.
parts : int, 1 … dimensions; part p of the buffer begins in dimension p, so that all links are busy.
)";

constexpr const char* kIdea =
    "Along each dimension in turn, all ranks of a row exchange their sums and add them.";

std::vector<Parameter> parameters() {
  return {required("dims"), required("wires"), keyword(optional("scattered", 0)),
          keyword(optional("parts", 1))};
}

Function maker() {
  return function(
      kName, parameters(), std::string(kIdea) + kParameters + R"(
Returns
-------
Schedule, with scratch slots where a row has more than two ranks.

Raises
------
ArgumentError
    if the dimensions make no grid, a count is out of range, or there would be more than 2**22 slots or 2**28 transfers.

Notes
-----
Behind switches of n = d1·d2·… ranks: Σ (α + (di - 1)·N·β) seconds, and (di - 1) messages a step. Two ranks a dimension are
recursive doubling; one dimension is an exchange of all buffers in one step. A ring of d ranks takes ⌊d/2⌋ steps, each with a
buffer in either direction; a line takes d - 1. All ranks add in the order of coordinates, so that they get the same bits.
Deterministic. Source: [ruefenacht2017]; rings, parts, and dimensions to scatter along are additions.)",
      [](const std::vector<int>& dims, const std::vector<std::string>& wires, int scattered, int parts) {
        return all_reduce_recursive_multiplying(
            {topologies::dimensions_of(wires, dims, 0.0, 1.0), scattered, parts});
      });
}

Function counter() {
  return function(
      std::string(kName) + "_transfers", parameters(),
      R"(Count the transfers of all_reduce_recursive_multiplying, those within ranks included.

Parameters
----------
dims, wires, scattered, parts : as all_reduce_recursive_multiplying takes them.

Returns
-------
int

Raises
------
ArgumentError
    if the dimensions make no grid, a count is out of range, or there would be more than 2**22 slots.)",
      [](const std::vector<int>& dims, const std::vector<std::string>& wires, int scattered, int parts) {
        return recursive_multiplying_transfers(
            {topologies::dimensions_of(wires, dims, 0.0, 1.0), scattered, parts});
      });
}

}  // namespace

std::vector<Algorithm> recursive_multiplying_algorithms() {
  return {{.name = kName,
           .kind = CollectiveKind::all_reduce,
           .paper = {"ruefenacht2017", "Ruefenacht, Bull, Booth 2017"},
           .idea = kIdea,
           .sizes = "grids of any dimensions",
           .chunks_formula = "a block for each part, and 2 where there are rings",
           .steps_formula = "",
           .bytes_formula = "",
           .formula = "",
           .needs = Needs::topology,
           .functions = {maker(), counter()}}};
}

}  // namespace hemiola::algorithms
