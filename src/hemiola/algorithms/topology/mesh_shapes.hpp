// The trees of a mesh as coordinates: along which dimensions each leaves its root, where that is, and what share of the
// buffer it carries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hemiola/algorithms/index/rank_grid.hpp"
#include "hemiola/topology/builders/grid.hpp"

namespace hemiola::algorithms {

/// Only dimensions of several ranks, slow ones first; and how many coordinates of each lead trees.
struct Mesh {
  Mesh(const std::vector<topologies::Dimension>& dimensions, std::optional<int> line_count);

  std::size_t dimension_count() const { return wide.size(); }
  int size(std::size_t dimension) const { return grid.size(wide[dimension]); }
  /// In which order trees leave their root: along slow dimensions first, of several that are as fast along the one behind
  /// `last`, and along `last` last.
  std::vector<std::size_t> order_to(std::size_t last) const;
  /// How many trees have that order: one for each choice of the coordinates across their spine.
  std::int64_t tree_count(const std::vector<std::size_t>& order) const;

  RankGrid grid;
  std::vector<int> wide;      ///< dimensions of the grid; others are numbered in this order
  std::vector<int> lines;     ///< of each of them
  std::vector<double> speed;  ///< over the fastest one's
};

/// One tree: its order of dimensions, and where its root is.
struct Shape {
  std::vector<std::size_t> order;
  std::vector<int> root;  ///< coordinates, by dimension
  double share;
  int chunk_count = 0;
};

/// How far its farthest rank is from its root.
int depth(const Mesh& mesh, const Shape& shape);

/// All trees, with shares for which the busiest links of all dimensions are busy for as long. The largest share has
/// `chunk_count` chunks, smaller ones about as large chunks. Roots are in the middle of their spines, and spines in the
/// middle of the mesh where not all lines lead one.
std::vector<Shape> shapes_of(const Mesh& mesh, int chunk_count);

}  // namespace hemiola::algorithms
