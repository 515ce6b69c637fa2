// SPDX-License-Identifier: Apache-2.0
// The trees of a mesh as coordinates: the dimensions along which each leaves its root, the root's place, and
// its share of the buffer. Their builder and their cost model both begin here.
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

/// Trees that have the same order of dimensions. Their roots are in the middle of their spines.
struct Bundle {
  std::vector<std::size_t> order;
  std::int64_t tree_count;
  double share;  ///< of the buffer, each tree's, above 0

  /// How many chunks each has where a tree with the share `largest` has `chunk_count`, about as large ones.
  int chunks(double largest, int chunk_count) const;
};

/// All trees, with shares for which the busiest links of all dimensions are busy for as long.
std::vector<Bundle> bundles_of(const Mesh& mesh);

double largest_share(const std::vector<Bundle>& bundles);

/// The part of the load along trees of an order that a link of each dimension carries: all where the
/// dimension is the last one, one s-th where one of s lines comes behind it, and so on.
std::vector<double> carried(const Mesh& mesh, const std::vector<std::size_t>& order);

/// One tree: its order of dimensions, and where its root is.
struct Shape {
  std::vector<std::size_t> order;
  std::vector<int> root;  ///< coordinates, by dimension
  double share;
  int chunk_count = 0;
};

/// Of the trees of a bundle, the one of this number. No tree reaches farther, along any dimension, than that of number 0.
Shape shape_of(const Mesh& mesh, const Bundle& bundle, std::int64_t number);

/// How far a tree reaches from its root along a dimension.
int reach(const Mesh& mesh, const Shape& shape, std::size_t dimension);

/// How far its farthest rank is from its root.
int depth(const Mesh& mesh, const Shape& shape);

/// The trees of all bundles; the largest share has `chunk_count` chunks. Spines are in the middle of the mesh where not
/// all lines lead one.
std::vector<Shape> shapes_of(const Mesh& mesh, int chunk_count);

}  // namespace hemiola::algorithms
