// SPDX-License-Identifier: Apache-2.0
// A ring of eight ranks; entries are the peers with which a rank exchanges all that it has added up so far:
//
//             rank 0  rank 1  rank 2  rank 3  rank 4  rank 5  rank 6  rank 7
//   step 0      1       0       3       2       5       4       7       6       distance 1
//   step 1      7       2       1       4       3       6       5       0       distance -1
//   step 2      3       6       5       0       7       2       1       4       distance 3
//
// Recursive doubling has the distances 1, 2 and 4.
#include "hemiola/algorithms/topology/swing.hpp"

#include <bit>
#include <string>
#include <utility>

#include "hemiola/algorithms/index/rank_grid.hpp"
#include "hemiola/algorithms/topology/grid_dimensions.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

constexpr const char* kName = "all_reduce_swing";

/// How far an even rank's peer is in a step, and an odd one's in the other direction: 1 - 2 + 4 - …
int distance_of(int step) {
  int distance = 0;
  for (int power = 0; power <= step; ++power) distance += power % 2 == 0 ? 1 << power : -(1 << power);
  return distance;
}

void check(const std::vector<int>& dims, int parts) {
  std::vector<topologies::Dimension> dimensions;
  for (int size : dims) dimensions.push_back({topologies::Wires::ring, size, {}});
  check_dimensions(kName, dimensions);
  for (int size : dims)
    if (!std::has_single_bit(static_cast<unsigned>(size)))
      throw ArgumentError(std::string(kName) + ": expected sides that are powers of two, found " +
                          std::to_string(size));
  const int most = 2 * static_cast<int>(dims.size());
  if (parts < 1 || parts > most)
    throw ArgumentError(std::string(kName) + ": expected 1 … " + std::to_string(most) +
                        " parts, at most twice as many as dimensions, found " + std::to_string(parts));
}

/// Every part goes round the dimensions, a step in each, until all steps of all are taken.
void add_part(ScheduleBuilder* builder, const RankGrid& grid, int part) {
  const int count = grid.dimension_count(), direction = part < count ? +1 : -1;
  std::vector<int> taken(static_cast<std::size_t>(count));
  const int steps = std::countr_zero(static_cast<unsigned>(grid.rank_count()));
  for (int step = 0, d = part % count; step < steps; d = (d + 1) % count) {
    int& own = taken[static_cast<std::size_t>(d)];
    if (1 << own == grid.size(d)) continue;
    for (Rank rank : indices<Rank>(grid.rank_count())) {
      const int x = grid.coordinate(rank, d), way = x % 2 == 0 ? direction : -direction;
      builder->reduce(Step{step}, rank, grid.moved(rank, d, x + way * distance_of(own)), Chunk{part});
    }
    ++own;
    ++step;
  }
}

std::string why_not(const Task& task) {
  if (std::has_single_bit(static_cast<unsigned>(task.rank_count))) return "";
  return "expected sides that are powers of two, found " + std::to_string(task.rank_count) + " ranks";
}

constexpr const char* kIdea =
    "In every step ranks exchange and add whole parts with a peer that is up by turns, then down.";

constexpr const char* kParameters = R"(

Parameters
----------
dims : the sides of a torus, each a power of two.
parts : int, 1 … twice the dimensions; part p of the buffer begins in dimension p modulo their number, and the second
    half of the parts swings the other way.

Returns
-------
Schedule

Raises
------
ArgumentError
    if the sides make no grid, one is no power of two, or there are too many parts.

Notes
-----
log2 n steps of a whole part each. Peers are 1, 1, 3, 5, 11, … apart, two thirds as far as with recursive doubling, so
that fewer messages share a link. All ranks get the same bits. Deterministic. Source: [desensi2024], the latency-optimal
form.)";

}  // namespace

Schedule all_reduce_swing(const std::vector<int>& dims, int parts) {
  check(dims, parts);
  const RankGrid grid(dims);
  ScheduleBuilder builder(
      Collective::with_owners(CollectiveKind::all_reduce, grid.rank_count(),
                              std::vector<Rank>(static_cast<std::size_t>(parts), Rank{0})));
  for (int part = 0; part < parts; ++part) add_part(&builder, grid, part);
  return builder.finish();
}

std::vector<Algorithm> swing_algorithms() {
  return {{.name = kName,
           .kind = CollectiveKind::all_reduce,
           .paper = {"desensi2024", "De Sensi, Bonato, Saam, Hoefler 2024"},
           .idea = kIdea,
           .sizes = "grids whose sides are powers of two",
           .chunks_formula = "one for each part",
           .steps_formula = "",
           .bytes_formula = "",
           .formula = "",
           .needs = Needs::topology,
           .functions = {function(
               kName, {required("dims"), keyword(optional("parts", 1))}, std::string(kIdea) + kParameters,
               [](const std::vector<int>& dims, int parts) { return all_reduce_swing(dims, parts); })},
           .why_not = why_not}};
}

}  // namespace hemiola::algorithms
