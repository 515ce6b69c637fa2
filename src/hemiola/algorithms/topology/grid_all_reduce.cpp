// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/topology/grid_all_reduce.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "hemiola/algorithms/topology/grid_dimensions.hpp"
#include "hemiola/algorithms/topology/grid_phase.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/topology/builders/dimensions.hpp"

namespace hemiola::algorithms {
namespace {

void check(const std::string& name, const GridLoad& load) {
  check_dimensions(name, load.dimensions);
  if (load.nbytes < 0)
    throw ArgumentError(name + ": expected a buffer of at least 0 bytes, found " +
                        std::to_string(load.nbytes));
  if (load.part_count < 1)
    throw ArgumentError(name + ": expected a chunk_count of at least 1, found " +
                        std::to_string(load.part_count));
  const GridPhases phases(load.dimensions, 1);
  const std::int64_t n = phases.grid().rank_count();
  const std::int64_t per_part = 2 * phases.lane_count() * n * (n - 1);
  if (per_part > 0 && load.part_count > Algorithm::kMaxTransfers / per_part)
    throw ArgumentError(name + ": " + std::to_string(n) + " ranks and " + std::to_string(load.part_count) +
                        " chunks would need more than " + std::to_string(Algorithm::kMaxTransfers) +
                        " transfers; ask for fewer chunks");
}

std::int64_t part_bytes(const GridLoad& load) {
  return load.nbytes / load.part_count;
}

/// One exchange of a phase, and when it begins.
struct PlacedExchange {
  GridPhase phase;
  int exchange;
  Picoseconds begin;
};

/// A part's way through the dimensions: out in its order, then back.
struct Journey {
  int part;
  std::vector<int> order;
  int passed = 0;    ///< phases
  int exchange = 0;  ///< within the phase it is in
  Picoseconds ready = 0;

  int phase_count() const { return 2 * static_cast<int>(order.size()); }
  bool is_over() const { return passed == phase_count(); }
  GridPhase phase() const {
    const bool gathers = passed >= static_cast<int>(order.size());
    return {part, order, gathers ? phase_count() - 1 - passed : passed, gathers};
  }
  /// Leaves phases that have no exchange left.
  void advance(const GridPhases& phases) {
    while (!is_over() && exchange == phases.step_count(phase())) {
      ++passed;
      exchange = 0;
    }
  }
};

/// Every dimension serves one exchange at a time: the one that can begin first, and of several the lowest part's,
/// so that parts spread over the dimensions. Links are free again when the bytes have left; the part goes on when
/// they have arrived.
std::vector<PlacedExchange> place(const GridPhases& phases, const GridLoad& load,
                                  std::vector<Journey> journeys) {
  std::vector<PlacedExchange> placed;
  std::vector<Picoseconds> free(load.dimensions.size(), 0);
  const auto free_at = [&](const Journey& j) -> Picoseconds& {
    return free[static_cast<std::size_t>(j.phase().dimension())];
  };
  const auto urgency = [&](const Journey& j) { return std::tuple(std::max(j.ready, free_at(j)), j.part); };
  for (Journey& journey : journeys) journey.advance(phases);
  std::erase_if(journeys, [](const Journey& j) { return j.is_over(); });
  while (!journeys.empty()) {
    const auto first =
        std::min_element(journeys.begin(), journeys.end(),
                         [&](const Journey& a, const Journey& b) { return urgency(a) < urgency(b); });
    const Picoseconds begin = std::max(first->ready, free_at(*first));
    const LinkTime time = phases.exchange_time(first->phase(), part_bytes(load));
    placed.push_back({first->phase(), first->exchange, begin});
    free_at(*first) = begin + time.busy;
    first->ready = begin + time.arrival;
    ++first->exchange;
    first->advance(phases);
    if (first->is_over()) journeys.erase(first);
  }
  return placed;
}

/// The times at which some exchange begins, in order: a step each.
std::vector<Picoseconds> step_times(const std::vector<PlacedExchange>& placed) {
  std::vector<Picoseconds> times;
  for (const PlacedExchange& p : placed) times.push_back(p.begin);
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

Schedule run(const GridPhases& phases, const GridLoad& load, std::vector<Journey> journeys) {
  const std::vector<PlacedExchange> placed = place(phases, load, std::move(journeys));
  const std::vector<Picoseconds> times = step_times(placed);
  ScheduleBuilder builder(
      Collective::make(CollectiveKind::all_reduce, phases.grid().rank_count(), phases.chunk_count()));
  for (const PlacedExchange& p : placed) {
    const auto at = std::lower_bound(times.begin(), times.end(), p.begin);
    phases.add_exchange(&builder, p.phase, p.exchange, Step{at - times.begin()});
  }
  return builder.finish();
}

std::vector<int> listed_order(const GridLoad& load) {
  std::vector<int> order(load.dimensions.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

Schedule all_reduce_blueconnect(const GridLoad& load) {
  check("all_reduce_blueconnect", load);
  std::vector<Journey> journeys;
  for (int part = 0; part < load.part_count; ++part) journeys.push_back({part, listed_order(load)});
  return run(GridPhases(load.dimensions, load.part_count), load, std::move(journeys));
}

Schedule all_reduce_themis(const GridLoad& load) {
  check("all_reduce_themis", load);
  const GridPhases phases(load.dimensions, load.part_count);
  std::vector<Picoseconds> busy(load.dimensions.size(), 0);
  const auto busy_of = [&](int dimension) -> Picoseconds& {
    return busy[static_cast<std::size_t>(dimension)];
  };
  std::vector<Journey> journeys;
  for (int part = 0; part < load.part_count; ++part) {
    std::vector<int> order = listed_order(load);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return busy_of(a) < busy_of(b); });
    for (int position = 0; position < static_cast<int>(order.size()); ++position) {
      const GridPhase phase{part, order, position, false};
      busy_of(phase.dimension()) +=
          2 * phases.step_count(phase) * phases.exchange_time(phase, part_bytes(load)).busy;
    }
    journeys.push_back({part, std::move(order)});
  }
  return run(phases, load, std::move(journeys));
}

namespace {

/// Both take the same; the idea and the paper stand round it.
constexpr const char* kParameters = R"(

Parameters
----------
dims, wires, latency_s, bandwidth : as hemiola.topologies.grid takes them.
nbytes : int >= 0, bytes of one rank's buffer; with the links' costs it decides each part's place at a time.
chunk_count : int >= 1, parts that the buffer is cut into.

Returns
-------
Schedule, of chunk_count parts of one chunk per rank, or two per rank where there are rings or lines.

Raises
------
ArgumentError
    if the dimensions make no grid, an argument is out of range, or there would be more than 2**28 transfers.

Notes
-----
Deterministic. Rings and lines use the ring algorithm, half of a part each way round; fully connected and switched
dimensions exchange directly. A dimension serves one exchange at a time: the one that can begin first, the
lowest part's of several. )";

Function make_function(const std::string& name, const std::string& idea, const std::string& paper,
                       int chunk_count, Schedule (*all_reduce)(const GridLoad&)) {
  return function(
      name,
      {required("dims"), required("wires"), keyword(required("latency_s")), keyword(required("bandwidth")),
       keyword(required("nbytes")), keyword(optional("chunk_count", chunk_count))},
      idea + kParameters + "Source: [" + paper + "].",
      [all_reduce](const std::vector<int>& dims, const std::vector<std::string>& wires,
                   const PerItem& latency_s, const PerItem& bandwidth, std::int64_t nbytes, int chunks) {
        return all_reduce({topologies::dimensions_of(wires, dims, latency_s, bandwidth), nbytes, chunks});
      });
}

/// Parameters that a grid decides stay empty.
Algorithm on_grids(std::string_view name, Paper paper, std::string_view idea, Function made_by) {
  return {.name = name,
          .kind = CollectiveKind::all_reduce,
          .paper = paper,
          .idea = idea,
          .sizes = "grids of any dimensions",
          .chunks_formula = "K parts of n, or 2n where there are rings",
          .steps_formula = "",
          .bytes_formula = "",
          .formula = "",
          .needs = Needs::topology,
          .functions = {std::move(made_by)}};
}

}  // namespace

std::vector<Algorithm> grid_algorithms() {
  return {
      on_grids("all_reduce_blueconnect", {"cho2019", "Cho, Finkler, Serrano, Kung, Hunter 2019"},
               "Reduce-scatter along each dimension in turn, then all-gather along them in reverse.",
               make_function(
                   "all_reduce_blueconnect",
                   "Reduce-scatter along each dimension of a grid in turn, then all-gather along them in "
                   "reverse.",
                   "cho2019", 1, all_reduce_blueconnect)),
      on_grids("all_reduce_themis", {"rashidi2022", "Rashidi, Won, Srinivasan, Sridharan, Krishna 2022"},
               "BlueConnect with an order of its own for each part: least busy dimension first.",
               make_function(
                   "all_reduce_themis",
                   "All-reduce on a grid, each part beginning in the dimension that has least to do so far.",
                   "rashidi2022", 64, all_reduce_themis)),
  };
}

}  // namespace hemiola::algorithms
