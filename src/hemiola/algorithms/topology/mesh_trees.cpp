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
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <set>
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

/// Only dimensions of several ranks, slow ones first; and how many coordinates of each lead trees.
struct Mesh {
  explicit Mesh(const MeshLoad& load) : grid(sizes_of(load.dimensions)) {
    for (int i = 0; i < grid.dimension_count(); ++i)
      if (grid.size(i) > 1) wide.push_back(i);
    const auto bandwidth = [&](int i) {
      return load.dimensions[static_cast<std::size_t>(i)].cost.bandwidth_Bps;
    };
    std::stable_sort(wide.begin(), wide.end(), [&](int a, int b) { return bandwidth(a) < bandwidth(b); });
    for (int i : wide) {
      lines.push_back(std::min(grid.size(i), load.line_count.value_or(grid.size(i))));
      speed.push_back(bandwidth(i) / bandwidth(wide.back()));
    }
  }
  std::size_t dimension_count() const { return wide.size(); }
  int size(std::size_t dimension) const { return grid.size(wide[dimension]); }
  /// In which order trees leave their root: along slow dimensions first, of several that are as fast along the one behind
  /// `last`, and along `last` last.
  std::vector<std::size_t> order_to(std::size_t last) const {
    std::vector<std::size_t> order;
    for (std::size_t i = 1; i < wide.size(); ++i) order.push_back((last + i) % wide.size());
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return speed[a] < speed[b]; });
    order.push_back(last);
    return order;
  }
  /// How many trees have that order: one for each choice of the coordinates across their spine.
  std::int64_t tree_count(const std::vector<std::size_t>& order) const {
    std::int64_t count = 1;
    for (std::size_t position = 1; position < order.size(); ++position) count *= lines[order[position]];
    return count;
  }

  RankGrid grid;
  std::vector<int> wide;      ///< dimensions of the grid; others are numbered in this order
  std::vector<int> lines;     ///< of each of them
  std::vector<double> speed;  ///< over the fastest one's
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

/// What part of what goes along trees of an order a link of each dimension carries: all where the dimension is the last
/// one, one s-th where one of s lines comes behind it, and so on.
std::vector<double> carried(const Mesh& mesh, const std::vector<std::size_t>& order) {
  std::vector<double> parts(order.size());
  double part = 1;
  for (auto dimension = order.rbegin(); dimension != order.rend(); ++dimension) {
    parts[*dimension] = part;
    part /= mesh.lines[*dimension];
  }
  return parts;
}

/// What share of the buffer goes along the trees that have each dimension last, so that the busiest links of all
/// dimensions take as long. Trees have the same number of links, so nothing is better. Slow dimensions whose links
/// have more to carry anyhow, first in all orders, are last in none.
std::vector<double> shares_of(const Mesh& mesh) {
  const std::size_t n = mesh.dimension_count();
  for (std::size_t first = 0; first < n; ++first) {
    std::vector<std::vector<double>> rows(n - first, std::vector<double>(n - first + 1));
    for (std::size_t last = first; last < n; ++last) {
      const std::vector<double> parts = carried(mesh, mesh.order_to(last));
      for (std::size_t i = first; i < n; ++i) rows[i - first][last - first] = parts[i];
    }
    for (std::size_t i = first; i < n; ++i) rows[i - first].back() = mesh.speed[i];
    const std::vector<double> found = solved(std::move(rows));
    if (found.empty()) break;
    const double sum = std::accumulate(found.begin(), found.end(), 0.0);
    if (std::any_of(found.begin(), found.end(), [&](double share) { return share / sum < 0; })) continue;
    std::vector<double> shares(n, 0.0);
    for (std::size_t i = first; i < n; ++i) shares[i] = found[i - first] / sum;
    return shares;
  }
  return std::vector<double>(n, 1.0 / static_cast<double>(n));  // one line each: all links of it carry all
}

/// One tree: its order of dimensions, and where its root is.
struct Shape {
  std::vector<std::size_t> order;
  std::vector<int> root;  ///< coordinates, by dimension
  double share;
  int chunk_count = 0;
};

/// How far its farthest rank is from its root.
int depth(const Mesh& mesh, const Shape& shape) {
  int hops = 0;
  for (std::size_t i = 0; i < mesh.dimension_count(); ++i)
    hops += std::max(shape.root[i], mesh.size(i) - 1 - shape.root[i]);
  return hops;
}

/// Roots are in the middle of their spines, and spines in the middle of the mesh where not all lines lead one.
Shape shape_of(const Mesh& mesh, std::vector<std::size_t> order, std::int64_t number, double share) {
  Shape shape{std::move(order), std::vector<int>(mesh.dimension_count()), share};
  shape.root[shape.order[0]] = mesh.size(shape.order[0]) / 2;
  for (std::size_t position = 1; position < shape.order.size(); ++position) {
    const std::size_t i = shape.order[position];
    shape.root[i] = (mesh.size(i) - mesh.lines[i]) / 2 + static_cast<int>(number % mesh.lines[i]);
    number /= mesh.lines[i];
  }
  return shape;
}

std::vector<Shape> shapes_of(const Mesh& mesh, const MeshLoad& load) {
  const std::vector<double> shares = shares_of(mesh);
  std::vector<Shape> shapes;
  double largest = 0;
  for (std::size_t last = 0; last < mesh.dimension_count(); ++last) {
    const std::vector<std::size_t> order = mesh.order_to(last);
    const std::int64_t count = mesh.tree_count(order);
    const double share = shares[last] / static_cast<double>(count);
    if (share <= 0) continue;
    largest = std::max(largest, share);
    for (std::int64_t number = 0; number < count; ++number)
      shapes.push_back(shape_of(mesh, order, number, share));
  }
  for (Shape& shape : shapes)
    shape.chunk_count = std::max(1, static_cast<int>(std::lround(load.chunk_count * shape.share / largest)));
  return shapes;
}

/// Both ways of every cable: that up its dimension, then that down it. The up way of a rank's cable along each dimension
/// stands at `first[rank][dimension]`.
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
    const auto leads_up = std::find_if(shape.order.rbegin(), shape.order.rend(), [&](std::size_t i) {
      return grid.coordinate(rank, mesh.wide[i]) != shape.root[i];
    });
    if (leads_up == shape.order.rend()) {
      tree.root = rank;
      continue;
    }
    const std::size_t i = *leads_up;
    const int at = grid.coordinate(rank, mesh.wide[i]);
    tree.up_link[static_cast<std::size_t>(rank)] =
        at < shape.root[i] ? cables.up(rank, i) : cables.up(grid.moved(rank, mesh.wide[i], at - 1), i) + 1;
  }
  return tree;
}

/// The trees' chunks in the order in which they are sent: the j-th of c when (j + 1/2)/c of all are, shallow trees first.
std::vector<int> trees_of_chunks(const Mesh& mesh, const std::vector<Shape>& shapes) {
  std::vector<std::tuple<double, int, int>> places;
  for (std::size_t tree = 0; tree < shapes.size(); ++tree)
    for (int j = 0; j < shapes[tree].chunk_count; ++j)
      places.emplace_back((j + 0.5) / shapes[tree].chunk_count, depth(mesh, shapes[tree]),
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
  for (std::size_t last = 0; last < mesh.dimension_count(); ++last)
    trees += static_cast<double>(mesh.tree_count(mesh.order_to(last)));
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

/// Whether the links are those of a mesh, whatever they cost.
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
           })},
       .why_not = why_not}};
}

}  // namespace hemiola::algorithms
