// SPDX-License-Identifier: Apache-2.0
// Trees as a value: which ways the chunks of a buffer take. Packers, growers and matchers of trees decide no
// more than that; turns.hpp decides when each chunk goes.
#pragma once

#include <cstdint>
#include <vector>

namespace hemiola::trees {

/// The ways of one or more chunks. A list of channels says each shape in as many words as it has sends: up a tree to its
/// root and down again, from several holders, or from a late rank by several first hops.
///
///     up and down                 around a late rank: first hops, down, and back
///     2→1  1→0  0→1  1→2          L→1  L→2  1→3  3→L
///     └ adding ┘                  └adding┘       └ returns: waits for both first hops
struct Tree {
  /// In an order in which each follows all that bring its source the chunk.
  std::vector<std::uint32_t> channels = {};
  std::uint32_t adding = 0;  ///< so many of them, the first ones, add up; the others copy
  /// The last channel overwrites the sums of the adding ones, so it waits until these have landed.
  bool returns = false;
  double size = 1;  ///< of a chunk, over the size for which the network's times hold
  /// By channel, when its sends are due; the j-th chunk's come j later. Empty: nobody knows.
  std::vector<std::int32_t> dates = {};
};

struct Trees {
  std::vector<Tree> trees;
  std::vector<std::uint32_t> tree_of;  ///< by chunk
};

}  // namespace hemiola::trees
