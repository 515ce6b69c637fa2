// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/topology/mesh_shapes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "hemiola/algorithms/topology/grid_dimensions.hpp"

namespace hemiola::algorithms {

Mesh::Mesh(const std::vector<topologies::Dimension>& dimensions, std::optional<int> line_count)
    : grid(sizes_of(dimensions)) {
  for (int i = 0; i < grid.dimension_count(); ++i)
    if (grid.size(i) > 1) wide.push_back(i);
  const auto bandwidth = [&](int i) { return dimensions[static_cast<std::size_t>(i)].cost.bandwidth_Bps; };
  std::stable_sort(wide.begin(), wide.end(), [&](int a, int b) { return bandwidth(a) < bandwidth(b); });
  for (int i : wide) {
    lines.push_back(std::min(grid.size(i), line_count.value_or(grid.size(i))));
    speed.push_back(bandwidth(i) / bandwidth(wide.back()));
  }
}

std::vector<std::size_t> Mesh::order_to(std::size_t last) const {
  std::vector<std::size_t> order;
  for (std::size_t i = 1; i < wide.size(); ++i) order.push_back((last + i) % wide.size());
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return speed[a] < speed[b]; });
  order.push_back(last);
  return order;
}

std::int64_t Mesh::tree_count(const std::vector<std::size_t>& order) const {
  std::int64_t count = 1;
  for (std::size_t position = 1; position < order.size(); ++position) count *= lines[order[position]];
  return count;
}

std::vector<double> carried(const Mesh& mesh, const std::vector<std::size_t>& order) {
  std::vector<double> parts(order.size());
  double part = 1;
  for (auto dimension = order.rbegin(); dimension != order.rend(); ++dimension) {
    parts[*dimension] = part;
    part /= mesh.lines[*dimension];
  }
  return parts;
}

int reach(const Mesh& mesh, const Shape& shape, std::size_t dimension) {
  return std::max(shape.root[dimension], mesh.size(dimension) - 1 - shape.root[dimension]);
}

int depth(const Mesh& mesh, const Shape& shape) {
  int hops = 0;
  for (std::size_t i = 0; i < mesh.dimension_count(); ++i) hops += reach(mesh, shape, i);
  return hops;
}

namespace {

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

/// Smaller shares are remainders of rounding.
constexpr double kLeastShare = 1e-9;

/// The share of the buffer that goes along the trees that have each dimension last, so that the busiest links
/// of all dimensions take as long. Trees have the same number of links, so nothing is better. Slow dimensions
/// whose links have more to carry anyhow, first in all orders, are last in none.
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
    if (std::any_of(found.begin(), found.end(), [&](double share) { return share / sum < -kLeastShare; }))
      continue;
    std::vector<double> shares(n, 0.0);
    for (std::size_t i = first; i < n; ++i) {
      const double share = found[i - first] / sum;
      if (share > kLeastShare) shares[i] = share;
    }
    return shares;
  }
  return std::vector<double>(n, 1.0 / static_cast<double>(n));  // one line each: all links of it carry all
}

}  // namespace

int Bundle::chunks(double largest, int chunk_count) const {
  return std::max(1, static_cast<int>(std::lround(chunk_count * share / largest)));
}

std::vector<Bundle> bundles_of(const Mesh& mesh) {
  const std::vector<double> shares = shares_of(mesh);
  std::vector<Bundle> bundles;
  for (std::size_t last = 0; last < mesh.dimension_count(); ++last) {
    std::vector<std::size_t> order = mesh.order_to(last);
    const std::int64_t count = mesh.tree_count(order);
    const double share = shares[last] / static_cast<double>(count);
    if (share > 0) bundles.push_back({std::move(order), count, share});
  }
  return bundles;
}

double largest_share(const std::vector<Bundle>& bundles) {
  double largest = 0;
  for (const Bundle& bundle : bundles) largest = std::max(largest, bundle.share);
  return largest;
}

Shape shape_of(const Mesh& mesh, const Bundle& bundle, std::int64_t number) {
  Shape shape{bundle.order, std::vector<int>(mesh.dimension_count()), bundle.share};
  shape.root[shape.order[0]] = mesh.size(shape.order[0]) / 2;
  for (std::size_t position = 1; position < shape.order.size(); ++position) {
    const std::size_t i = shape.order[position];
    shape.root[i] = (mesh.size(i) - mesh.lines[i]) / 2 + static_cast<int>(number % mesh.lines[i]);
    number /= mesh.lines[i];
  }
  return shape;
}

std::vector<Shape> shapes_of(const Mesh& mesh, int chunk_count) {
  const std::vector<Bundle> bundles = bundles_of(mesh);
  const double largest = largest_share(bundles);
  std::vector<Shape> shapes;
  for (const Bundle& bundle : bundles)
    for (std::int64_t number = 0; number < bundle.tree_count; ++number) {
      shapes.push_back(shape_of(mesh, bundle, number));
      shapes.back().chunk_count = bundle.chunks(largest, chunk_count);
    }
  return shapes;
}

}  // namespace hemiola::algorithms
