// SPDX-License-Identifier: Apache-2.0
// Four of the six trees of a 3 × 3 mesh, o their roots; the spines of two are rows, those of two columns:
//
//   ·──o──·      ·  ·  ·      ·──·──·      ·──·──·
//   │  │  │      │  │  │      │               │
//   ·  ·  ·      ·──o──·      o──·──·      ·──o──·
//   │  │  │      │  │  │      │               │
//   ·  ·  ·      ·  ·  ·      ·──·──·      ·──·──·
//
// A cable of a column is in all trees whose spines are rows, and in one of the others; of a row likewise.
// Each tree carries its share up one way of the cable and down the other, so both ways carry alike.
#include "hemiola/algorithms/topology/mesh_trees.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "hemiola/algorithms/index/rank_grid.hpp"
#include "hemiola/algorithms/topology/grid_dimensions.hpp"
#include "hemiola/algorithms/topology/mesh_shapes.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/topology/builders/dimensions.hpp"
#include "hemiola/trees/add_in_steps.hpp"
#include "hemiola/trees/turns.hpp"

namespace hemiola::algorithms {
namespace {

using topologies::Dimension;
using topologies::Wires;

constexpr const char* kName = "all_reduce_mesh_trees";
/// The parts of the buffer in which chunks are weighed.
constexpr double kWeightUnits = 1LL << 40;

bool is_line(const Dimension& dimension) {
  const bool is_cable = dimension.size == 2 && dimension.wires != Wires::switched;
  return dimension.size == 1 || dimension.wires == Wires::line || is_cable;
}

/// Ticks that the longest chunk occupies a link, and the most that a latency counts, as good as infinite. Chunks that come at
/// about the same time come at the same tick, so that the most urgent one goes first.
constexpr double kTicksOfLongest = 64, kMostLatency = 1 << 14;

/// Both ways of every cable: that up its dimension, then that down it. The up way of a rank's cable along each dimension
/// stands at `first[rank][dimension]`. Times are in ticks, of chunks of so many bytes.
class Cables {
 public:
  Cables(const Mesh& mesh, const MeshLoad& load, double bytes) : wide_count_(mesh.wide.size()) {
    const RankGrid& grid = mesh.grid;
    first_.assign(static_cast<std::size_t>(grid.rank_count()) * wide_count_, 0);
    const std::vector<trees::Hop> hops = hops_of(mesh, load, bytes);
    for (Rank rank : indices<Rank>(grid.rank_count()))
      for (std::size_t i = 0; i < wide_count_; ++i) {
        const int at = grid.coordinate(rank, mesh.wide[i]);
        if (at + 1 == grid.size(mesh.wide[i])) continue;
        const Rank next = grid.moved(rank, mesh.wide[i], at + 1);
        first_[index(rank, i)] = network_.link_count;
        for (const trees::Channel channel : {trees::Channel{rank, next}, trees::Channel{next, rank}})
          network_.add(channel, {network_.link_count, hops[i].busy, hops[i].delay});
      }
  }
  const trees::Network& network() const { return network_; }
  std::uint32_t up(Rank rank, std::size_t wide) const { return first_[index(rank, wide)]; }

 private:
  static std::vector<trees::Hop> hops_of(const Mesh& mesh, const MeshLoad& load, double bytes) {
    std::vector<std::pair<double, double>> times;
    double tick = 0;
    for (int dimension : mesh.wide) {
      const auto& cost = load.dimensions[static_cast<std::size_t>(dimension)].cost;
      times.emplace_back(static_cast<double>(kSecond) / cost.bandwidth_Bps * bytes,
                         static_cast<double>(cost.latency));
      tick = std::max({tick, times.back().first / kTicksOfLongest, times.back().second / kMostLatency});
    }
    const auto ticks = [&](double time) { return tick > 0 ? std::llround(time / tick) : 0; };
    std::vector<trees::Hop> hops;
    for (const auto& [time, latency] : times) {
      const Picoseconds busy = std::max<Picoseconds>(1, ticks(time));
      hops.push_back({0, busy, busy + ticks(latency)});
    }
    return hops;
  }
  std::size_t index(Rank rank, std::size_t wide) const {
    return static_cast<std::size_t>(rank) * wide_count_ + wide;
  }

  std::size_t wide_count_;
  std::vector<std::uint32_t> first_;
  trees::Network network_;
};

/// A tree's ranks but its root, by their distance from it, and of each the channel to its parent: its neighbour along the
/// last dimension, in the tree's order, in which it is not where the root is.
class Grown {
 public:
  Grown(const Mesh& mesh, const Shape& shape, const Cables& cables) {
    const RankGrid& grid = mesh.grid;
    for (Rank rank : indices<Rank>(grid.rank_count())) {
      const auto leads_up = std::find_if(shape.order.rbegin(), shape.order.rend(), [&](std::size_t i) {
        return grid.coordinate(rank, mesh.wide[i]) != shape.root[i];
      });
      if (leads_up == shape.order.rend()) {
        root = rank;
        continue;
      }
      const std::size_t i = *leads_up;
      const int at = grid.coordinate(rank, mesh.wide[i]);
      const bool is_below = at < shape.root[i];
      by_distance_.resize(std::max(by_distance_.size(), distance(mesh, shape, rank) + 1));
      by_distance_[distance(mesh, shape, rank)].push_back(
          is_below ? cables.up(rank, i) : cables.up(grid.moved(rank, mesh.wide[i], at - 1), i) + 1);
    }
  }

  /// Up to the root and down again; channels 2i and 2i + 1 are the two ways of one cable.
  trees::Tree up_and_down(double size) const {
    trees::Tree tree{.size = size};
    for (auto ranks = by_distance_.rbegin(); ranks != by_distance_.rend(); ++ranks)
      tree.channels.insert(tree.channels.end(), ranks->begin(), ranks->end());
    tree.adding = static_cast<std::uint32_t>(tree.channels.size());
    for (std::size_t i = tree.adding; i-- > 0;) tree.channels.push_back(tree.channels[i] ^ 1);
    return tree;
  }

  Rank root{0};

 private:
  static std::size_t distance(const Mesh& mesh, const Shape& shape, Rank rank) {
    int sum = 0;
    for (std::size_t i = 0; i < mesh.wide.size(); ++i)
      sum += std::abs(mesh.grid.coordinate(rank, mesh.wide[i]) - shape.root[i]);
    return static_cast<std::size_t>(sum);
  }

  std::vector<std::vector<std::uint32_t>> by_distance_;
};

/// The trees' chunks in the order in which they are sent: the j-th of c when (j + 1/2)/c of all are, shallow trees first.
std::vector<std::uint32_t> trees_of_chunks(const Mesh& mesh, const std::vector<Shape>& shapes) {
  std::vector<std::tuple<double, int, std::uint32_t>> places;
  for (std::size_t tree = 0; tree < shapes.size(); ++tree)
    for (int j = 0; j < shapes[tree].chunk_count; ++j)
      places.emplace_back((j + 0.5) / shapes[tree].chunk_count, depth(mesh, shapes[tree]),
                          static_cast<std::uint32_t>(tree));
  std::sort(places.begin(), places.end());
  std::vector<std::uint32_t> trees;
  for (const auto& place : places) trees.push_back(std::get<2>(place));
  return trees;
}

/// A link as topologies have them, and one over which the buffer takes a time that can be told.
void check_cost(const std::string& name, std::size_t dimension, const MeshLoad& load) {
  const topologies::LinkCost& cost = load.dimensions[dimension].cost;
  const std::string where = " in dimension " + std::to_string(dimension);
  if (!(cost.bandwidth_Bps > 0 && cost.bandwidth_Bps <= Topology::kMaxBandwidth_Bps &&
        std::isfinite(static_cast<double>(kSecond) / cost.bandwidth_Bps *
                      static_cast<double>(std::max<std::int64_t>(load.nbytes, 1)))))
    throw ArgumentError(name + ": expected a bandwidth above 0 B/s, at most " +
                        format_bandwidth(Topology::kMaxBandwidth_Bps) + ", at which " +
                        std::to_string(load.nbytes) + " bytes take a finite time, found " +
                        format_bandwidth(cost.bandwidth_Bps) + where);
  if (cost.latency < 0 || cost.latency > Topology::kMaxLatency)
    throw ArgumentError(name + ": expected a latency of 0 … " +
                        format_seconds(to_seconds(Topology::kMaxLatency)) + ", found " +
                        format_seconds(to_seconds(cost.latency)) + where);
}

/// The mesh, of which everything has been checked.
Mesh checked(const MeshLoad& load) {
  const std::string name = kName;
  check_dimensions(name, load.dimensions);
  for (std::size_t i = 0; i < load.dimensions.size(); ++i)
    if (!is_line(load.dimensions[i]))
      throw ArgumentError(name + ": expected lines, found other wires in dimension " + std::to_string(i));
  for (std::size_t i = 0; i < load.dimensions.size(); ++i) check_cost(name, i, load);
  if (load.nbytes < 0)
    throw ArgumentError(name + ": expected a buffer of at least 0 bytes, found " +
                        std::to_string(load.nbytes));
  if (load.chunk_count < 1)
    throw ArgumentError(name + ": expected a chunk_count of at least 1, found " +
                        std::to_string(load.chunk_count));
  if (load.line_count && *load.line_count < 1)
    throw ArgumentError(name + ": expected a line_count of at least 1, found " +
                        std::to_string(*load.line_count));
  Mesh mesh(load.dimensions, load.line_count);
  double trees = 0;
  for (std::size_t last = 0; last < mesh.dimension_count(); ++last)
    trees += static_cast<double>(mesh.tree_count(mesh.order_to(last)));
  if (2.0 * trees * load.chunk_count * (mesh.grid.rank_count() - 1) > Algorithm::kMaxTransfers)
    throw ArgumentError(name + ": " + std::to_string(mesh.grid.rank_count()) + " ranks and " +
                        std::to_string(load.chunk_count) + " chunks would need more than " +
                        std::to_string(Algorithm::kMaxTransfers) +
                        " transfers; ask for fewer chunks or a smaller line_count");
  return mesh;
}

}  // namespace

Schedule all_reduce_mesh_trees(const MeshLoad& load) {
  const Mesh mesh = checked(load);
  if (mesh.wide.empty())
    return ScheduleBuilder(Collective::make(CollectiveKind::all_reduce, 1, load.chunk_count)).finish();
  const std::vector<Shape> shapes = shapes_of(mesh, load.chunk_count);
  double largest = 0;
  for (const Shape& shape : shapes) largest = std::max(largest, shape.share / shape.chunk_count);
  const Cables cables(mesh, load, largest * static_cast<double>(load.nbytes));
  trees::Trees trees;
  std::vector<Rank> root;
  std::vector<std::int64_t> weight;
  for (const Shape& shape : shapes) {
    const Grown grown(mesh, shape, cables);
    const double share = shape.share / shape.chunk_count;
    trees.trees.push_back(grown.up_and_down(share / largest));
    root.push_back(grown.root);
    weight.push_back(std::llround(kWeightUnits * share));
  }
  trees.tree_of = trees_of_chunks(mesh, shapes);
  std::vector<Rank> owner;
  std::vector<std::int64_t> weights;
  for (const std::uint32_t tree : trees.tree_of) {
    owner.push_back(root[tree]);
    weights.push_back(weight[tree]);
  }
  ScheduleBuilder builder(
      Collective::with_owners(CollectiveKind::all_reduce, mesh.grid.rank_count(), std::move(owner)));
  builder.set_chunk_weights(std::move(weights));
  const trees::Turned turned = trees::take_turns(cables.network(), trees, {.rule = trees::TurnRule::due});
  trees::add_in_steps(&builder, cables.network(), turned.sends);
  return builder.finish();
}

namespace {

/// The sizes of the mesh whose links are so far apart in rank numbers; empty where there is none.
std::vector<int> sizes_from(const std::set<int>& strides, int rank_count) {
  std::vector<int> sizes;
  for (auto stride = strides.begin(); stride != strides.end(); ++stride) {
    const int next = std::next(stride) == strides.end() ? rank_count : *std::next(stride);
    if (next % *stride != 0 || (sizes.empty() && *stride != 1)) return {};
    sizes.push_back(next / *stride);
  }
  return sizes;
}

/// Whether the links are those of a mesh, at any cost.
bool is_mesh(const Topology& topology) {
  std::set<std::pair<int, int>> linked;
  std::set<int> strides;
  for (const Link& link : topology.links()) {
    linked.emplace(link.src, link.dst);
    strides.insert(std::abs(link.dst - link.src));
  }
  const std::vector<int> sizes = sizes_from(strides, topology.rank_count());
  if (sizes.empty()) return false;
  std::size_t count = 0;
  const RankGrid grid(sizes);
  for (Rank rank : indices<Rank>(topology.rank_count()))
    for (int i = 0; i < grid.dimension_count(); ++i) {
      const int at = grid.coordinate(rank, i);
      if (at + 1 == grid.size(i)) continue;
      const Rank next = grid.moved(rank, i, at + 1);
      count += 2;
      if (!linked.contains({rank, next}) || !linked.contains({next, rank})) return false;
    }
  return count == topology.links().size();
}

std::string why_not(const Task& task) {
  if (task.topology->switch_count() > 0)
    return "expected a topology without switches, found " + std::to_string(task.topology->switch_count());
  return is_mesh(*task.topology) ? "" : "expected a mesh: a grid of lines";
}

constexpr const char* kDoc = R"(All-reduce on a mesh along spanning trees that load all its links alike.

Each tree reduces its share of the buffer, chunk after chunk, into its root in the middle of a spine along one dimension,
and broadcasts it down again; lines along the next dimension leave the spine, and so on. Every line across a
mesh of two dimensions is the spine of one tree.

Parameters
----------
dims, wires, latency_s, bandwidth : as hemiola.topologies.grid takes them; wires of more than two ranks are lines.
nbytes : int >= 0, bytes of one rank's buffer; with the links' costs it decides which chunk takes a link first.
chunk_count : int >= 1, chunks of the largest tree's share; smaller ones have as many as make theirs about as large.
line_count : int >= 1, optional; at most so many coordinates of each dimension lead trees, those in its middle, which
    makes ways shorter and the busiest links busier. Default: all.

Returns
-------
Schedule

Raises
------
ArgumentError
    if the dimensions make no mesh, an argument is out of range, or there would be more than 2**28 transfers.

Notes
-----
Deterministic. Of n ranks, with as many lines as there are and links alike, each link carries (n - 1)/m of the buffer
each way, m being the number of cables. That is the least of any all-reduce along trees [nashwilliams1961]. With L lines
of a mesh of two dimensions it is (1 + 1/L)/2. All is over about one longest way of one chunk after that. Per transfer
some 0.15 µs; on lines of thousands of ranks that send next to nothing up to 0.1 ms.)";

}  // namespace

std::vector<Algorithm> mesh_trees_algorithms() {
  return {
      {.name = kName,
       .kind = CollectiveKind::all_reduce,
       .paper = {"nashwilliams1961", "bound: Nash-Williams 1961"},
       .idea = "Up and down trees of every spine of a mesh, which load all links alike.",
       .sizes = "meshes of any dimensions",
       .chunks_formula = "K for each tree",
       .steps_formula = "",
       .bytes_formula = "",
       .formula = "",
       .needs = Needs::topology,
       .functions = {function(
           kName,
           {required("dims"), required("wires"), keyword(required("latency_s")),
            keyword(required("bandwidth")), keyword(required("nbytes")), keyword(optional("chunk_count", 16)),
            keyword(optional("line_count"))},
           kDoc,
           [](const std::vector<int>& dims, const std::vector<std::string>& wires, const PerItem& latency_s,
              const PerItem& bandwidth, std::int64_t nbytes, int chunks, std::optional<int> lines) {
             return all_reduce_mesh_trees(
                 {topologies::dimensions_of(wires, dims, latency_s, bandwidth), nbytes, chunks, lines});
           })},
       .why_not = why_not}};
}

}  // namespace hemiola::algorithms
