// The trees of a 3 × 3 mesh, o their roots. On the left the three with a spine along the first dimension, whose columns
// leave it; the others have their spine along the second:
//
//   o───o───o        │   │   │        │   │   │        │ ──────
//   │   │   │     ───┼───o───┼───     │   │   │     ...o ──────
//   │   │   │        │   │   │     ───┼───o───┼───     │ ──────
//
// A cable is in all trees that have it across, and in one of those that have it along their spine. Each tree carries its
// share up one way of the cable and down the other, whichever way is up: both ways carry alike.
#include "hemiola/algorithms/topology/mesh_trees.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "hemiola/algorithms/index/rank_grid.hpp"
#include "hemiola/algorithms/topology/grid_dimensions.hpp"
#include "hemiola/algorithms/topology/tree_turns.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/topology/builders/dimensions.hpp"

namespace hemiola::algorithms {
namespace {

using topologies::Dimension;
using topologies::Wires;

constexpr const char* kName = "all_reduce_mesh_trees";
/// In what parts of the buffer chunks are weighed.
constexpr double kWeightUnits = 1LL << 40;

bool is_line(const Dimension& dimension) {
  const bool is_cable = dimension.size == 2 && dimension.wires != Wires::switched;
  return dimension.size == 1 || dimension.wires == Wires::line || is_cable;
}

/// Only dimensions of several ranks, with how many coordinates of each lead a spine.
struct Mesh {
  explicit Mesh(const MeshLoad& load) : grid(sizes_of(load.dimensions)) {
    for (int i = 0; i < grid.dimension_count(); ++i) {
      if (grid.size(i) == 1) continue;
      wide.push_back(i);
      lines.push_back(std::min(grid.size(i), load.line_count.value_or(grid.size(i))));
    }
  }
  int dimension_count() const { return static_cast<int>(wide.size()); }
  /// The dimension, among the wide ones, that is `position`-th in the order that begins with `first`.
  int in_order(int first, int position) const { return (first + position) % dimension_count(); }
  /// How many trees have their spine along that dimension: one for each choice of the other coordinates.
  std::int64_t trees_along(int first) const {
    std::int64_t count = 1;
    for (int position = 1; position < dimension_count(); ++position)
      count *= lines[static_cast<std::size_t>(in_order(first, position))];
    return count;
  }

  RankGrid grid;
  std::vector<int> wide;   ///< dimensions
  std::vector<int> lines;  ///< of each of them
};

/// Solves `rows` of coefficients and a right side; empty where they have not one solution.
std::vector<double> solved(std::vector<std::vector<double>> rows) {
  constexpr double kNothing = 1e-9;
  const std::size_t n = rows.size();
  for (std::size_t column = 0; column < n; ++column) {
    const auto pivot = std::max_element(
        rows.begin() + static_cast<std::ptrdiff_t>(column), rows.end(),
        [&](const auto& a, const auto& b) { return std::abs(a[column]) < std::abs(b[column]); });
    if (std::abs((*pivot)[column]) < kNothing) return {};
    std::iter_swap(rows.begin() + static_cast<std::ptrdiff_t>(column), pivot);
    for (std::size_t row = 0; row < n; ++row) {
      if (row == column) continue;
      const double factor = rows[row][column] / rows[column][column];
      for (std::size_t i = column; i <= n; ++i) rows[row][i] -= factor * rows[column][i];
    }
  }
  std::vector<double> solution;
  for (std::size_t i = 0; i < n; ++i) solution.push_back(rows[i][n] / rows[i][i]);
  return solution;
}

/// What share of the buffer goes along trees with their spine along each wide dimension, so that the busiest links of
/// all dimensions take as long. A link is in all trees that have its dimension last, in one of s where one
/// dimension of s lines comes behind it, and so on. Where no shares do that, the nearest that are none below zero.
std::vector<double> shares_of(const Mesh& mesh, const MeshLoad& load) {
  const auto n = static_cast<std::size_t>(mesh.dimension_count());
  std::vector<std::vector<double>> rows(n + 1, std::vector<double>(n + 2, 0.0));
  for (int first = 0; first < mesh.dimension_count(); ++first) {
    double carried = 1;
    for (int position = mesh.dimension_count() - 1; position >= 0; --position) {
      const auto dimension = static_cast<std::size_t>(mesh.in_order(first, position));
      rows[dimension][static_cast<std::size_t>(first)] = carried;
      carried /= mesh.lines[dimension];
    }
  }
  double fastest = 0;
  for (int dimension : mesh.wide)
    fastest = std::max(fastest, load.dimensions[static_cast<std::size_t>(dimension)].cost.bandwidth_Bps);
  for (std::size_t i = 0; i < n; ++i) {
    const auto dimension = static_cast<std::size_t>(mesh.wide[i]);
    rows[i][n] = -load.dimensions[dimension].cost.bandwidth_Bps / fastest;
    rows[n][i] = 1;
  }
  rows[n][n + 1] = 1;
  std::vector<double> shares = solved(std::move(rows));
  if (shares.empty()) return std::vector<double>(n, 1.0 / static_cast<double>(n));
  shares.pop_back();
  for (double& share : shares) share = std::max(share, 0.0);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

/// One tree: its order of dimensions, and where its spine is.
struct Shape {
  int first;
  std::vector<int> through;  ///< its root's coordinates, by wide dimension
  double share;
  int chunk_count = 0;
};

/// How far its farthest rank is from its root.
int depth(const Mesh& mesh, const Shape& shape) {
  int hops = 0;
  for (std::size_t i = 0; i < mesh.wide.size(); ++i)
    hops += std::max(shape.through[i], mesh.grid.size(mesh.wide[i]) - 1 - shape.through[i]);
  return hops;
}

/// Roots are in the middle of their spines, and spines in the middle of the mesh where not all lines lead one.
std::vector<Shape> shapes_of(const Mesh& mesh, const MeshLoad& load) {
  const std::vector<double> shares = shares_of(mesh, load);
  std::vector<Shape> shapes;
  double largest = 0;
  for (int first = 0; first < mesh.dimension_count(); ++first) {
    const std::int64_t count = mesh.trees_along(first);
    const double share = shares[static_cast<std::size_t>(first)] / static_cast<double>(count);
    if (share <= 0) continue;
    largest = std::max(largest, share);
    for (std::int64_t number = 0; number < count; ++number) {
      Shape shape{first, std::vector<int>(mesh.wide.size()), share};
      shape.through[static_cast<std::size_t>(first)] =
          mesh.grid.size(mesh.wide[static_cast<std::size_t>(first)]) / 2;
      std::int64_t left = number;
      for (int position = 1; position < mesh.dimension_count(); ++position) {
        const auto i = static_cast<std::size_t>(mesh.in_order(first, position));
        const int before = (mesh.grid.size(mesh.wide[i]) - mesh.lines[i]) / 2;
        shape.through[i] = before + static_cast<int>(left % mesh.lines[i]);
        left /= mesh.lines[i];
      }
      shapes.push_back(std::move(shape));
    }
  }
  for (Shape& shape : shapes)
    shape.chunk_count = std::max(1, static_cast<int>(std::lround(load.chunk_count * shape.share / largest)));
  return shapes;
}

/// Both ways of every cable: that up its dimension, then that down it. The up way of a rank's cable along each dimension
/// stands at `first[rank][wide dimension]`.
class Cables {
 public:
  Cables(const Mesh& mesh, const MeshLoad& load) : wide_count_(mesh.wide.size()) {
    const RankGrid& grid = mesh.grid;
    first_.assign(static_cast<std::size_t>(grid.rank_count()) * wide_count_, UpDownTree::kNone);
    for (Rank rank : indices<Rank>(grid.rank_count()))
      for (std::size_t i = 0; i < wide_count_; ++i) {
        const int at = grid.coordinate(rank, mesh.wide[i]);
        if (at + 1 == grid.size(mesh.wide[i])) continue;
        const Rank next = grid.moved(rank, mesh.wide[i], at + 1);
        first_[index(rank, i)] = static_cast<std::int32_t>(network_.links.size());
        network_.links.push_back({rank, next, static_cast<int>(i)});
        network_.links.push_back({next, rank, static_cast<int>(i)});
      }
    for (int dimension : mesh.wide) {
      const auto& cost = load.dimensions[static_cast<std::size_t>(dimension)].cost;
      network_.costs.push_back({static_cast<double>(kSecond) / cost.bandwidth_Bps, cost.latency});
    }
  }
  const TreeLinks& network() const { return network_; }
  std::int32_t up(Rank rank, std::size_t wide) const { return first_[index(rank, wide)]; }

 private:
  std::size_t index(Rank rank, std::size_t wide) const {
    return static_cast<std::size_t>(rank) * wide_count_ + wide;
  }

  std::size_t wide_count_;
  std::vector<std::int32_t> first_;
  TreeLinks network_;
};

/// A rank's parent is its neighbour along the last dimension, in the tree's order, in which it is not where the root is.
UpDownTree grown(const Mesh& mesh, const Shape& shape, const Cables& cables) {
  const RankGrid& grid = mesh.grid;
  UpDownTree tree;
  tree.up_link.assign(static_cast<std::size_t>(grid.rank_count()), UpDownTree::kNone);
  for (Rank rank : indices<Rank>(grid.rank_count())) {
    bool is_root = true;
    for (int position = mesh.dimension_count() - 1; position >= 0 && is_root; --position) {
      const auto i = static_cast<std::size_t>(mesh.in_order(shape.first, position));
      const int at = grid.coordinate(rank, mesh.wide[i]);
      if (at == shape.through[i]) continue;
      is_root = false;
      tree.up_link[static_cast<std::size_t>(rank)] =
          at < shape.through[i] ? cables.up(rank, i)
                                : cables.up(grid.moved(rank, mesh.wide[i], at - 1), i) + 1;
    }
    if (is_root) tree.root = rank;
  }
  return tree;
}

/// The trees' chunks in the order in which they are sent: the j-th of c when (j + 1/2)/c of all are, deep trees first.
std::vector<int> trees_of_chunks(const Mesh& mesh, const std::vector<Shape>& shapes) {
  std::vector<std::tuple<double, int, int>> places;
  for (std::size_t tree = 0; tree < shapes.size(); ++tree)
    for (int j = 0; j < shapes[tree].chunk_count; ++j)
      places.emplace_back((j + 0.5) / shapes[tree].chunk_count, -depth(mesh, shapes[tree]),
                          static_cast<int>(tree));
  std::sort(places.begin(), places.end());
  std::vector<int> trees;
  for (const auto& place : places) trees.push_back(std::get<2>(place));
  return trees;
}

void check(const MeshLoad& load) {
  const std::string name = kName;
  check_dimensions(name, load.dimensions);
  for (std::size_t i = 0; i < load.dimensions.size(); ++i)
    if (!is_line(load.dimensions[i]))
      throw ArgumentError(name + ": expected lines, found other wires in dimension " + std::to_string(i));
  if (load.nbytes < 0)
    throw ArgumentError(name + ": expected a buffer of at least 0 bytes, found " +
                        std::to_string(load.nbytes));
  if (load.chunk_count < 1)
    throw ArgumentError(name + ": expected a chunk_count of at least 1, found " +
                        std::to_string(load.chunk_count));
  if (load.line_count && *load.line_count < 1)
    throw ArgumentError(name + ": expected a line_count of at least 1, found " +
                        std::to_string(*load.line_count));
  const Mesh mesh(load);
  double trees = 0;
  for (int first = 0; first < mesh.dimension_count(); ++first)
    trees += static_cast<double>(mesh.trees_along(first));
  if (2.0 * trees * load.chunk_count * (mesh.grid.rank_count() - 1) > Algorithm::kMaxTransfers)
    throw ArgumentError(name + ": " + std::to_string(mesh.grid.rank_count()) + " ranks and " +
                        std::to_string(load.chunk_count) + " chunks would need more than " +
                        std::to_string(Algorithm::kMaxTransfers) +
                        " transfers; ask for fewer chunks or a smaller line_count");
}

}  // namespace

Schedule all_reduce_mesh_trees(const MeshLoad& load) {
  check(load);
  const Mesh mesh(load);
  if (mesh.wide.empty())
    return ScheduleBuilder(Collective::make(CollectiveKind::all_reduce, 1, load.chunk_count)).finish();
  const std::vector<Shape> shapes = shapes_of(mesh, load);
  const std::vector<int> tree_of = trees_of_chunks(mesh, shapes);
  const Cables cables(mesh, load);
  std::vector<UpDownTree> trees;
  for (const Shape& shape : shapes) {
    trees.push_back(grown(mesh, shape, cables));
    trees.back().chunk_bytes = static_cast<double>(load.nbytes) * shape.share / shape.chunk_count;
  }
  std::vector<Rank> owner;
  std::vector<std::int64_t> weights;
  for (std::size_t chunk = 0; chunk < tree_of.size(); ++chunk) {
    const auto tree = static_cast<std::size_t>(tree_of[chunk]);
    trees[tree].chunks.push_back(Chunk{chunk});
    owner.push_back(trees[tree].root);
    weights.push_back(std::llround(kWeightUnits * shapes[tree].share / shapes[tree].chunk_count));
  }
  ScheduleBuilder builder(
      Collective::with_owners(CollectiveKind::all_reduce, mesh.grid.rank_count(), std::move(owner)));
  builder.set_chunk_weights(std::move(weights));
  add_up_and_down(&builder, cables.network(), trees);
  return builder.finish();
}

namespace {

constexpr const char* kDoc = R"(All-reduce on a mesh along spanning trees that load all its links alike.

Each tree reduces its share of the buffer, chunk after chunk, into its root in the middle of a spine along one dimension,
and broadcasts it down again; lines along the next dimension leave the spine, and so on. Every line across a
mesh of two dimensions is the spine of one tree.

Parameters
----------
dims, wires, latency_s, bandwidth : as hemiola.topologies.grid takes them; wires of more than two ranks are lines.
nbytes : int >= 0, one rank's buffer; with the links' costs it decides which chunk takes a link first.
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
Deterministic. Of n ranks, with as many lines as there are and links alike, each link carries (n - 1)/m of the buffer each
way, m being how many cables there are, which is the least that an all-reduce along trees can do [nashwilliams1961]; with
L lines of a mesh of two dimensions (1 + 1/L)/2. All is over about one longest way of one chunk after that. Per
transfer some 0.15 µs.)";

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
           })}}};
}

}  // namespace hemiola::algorithms
