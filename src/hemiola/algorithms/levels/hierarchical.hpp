// SPDX-License-Identifier: Apache-2.0
// Collectives on nodes with several ranks each, and on groups of such nodes. Between nodes they take
// logarithmically many rounds, on all NICs at once, pipelined in slices, while chunks that have arrived are
// handed on inside the nodes.
#pragma once

#include <optional>
#include <vector>

#include "hemiola/algorithms/algorithm.hpp"
#include "hemiola/algorithms/index/node_layout.hpp"
#include "hemiola/schedule/schedule_parts.hpp"

namespace hemiola::algorithms {

/// Messages of one round: every node sends its chunks of some nodes behind it to the node that is so far
/// ahead.
struct LevelRound {
  NodeOffset ahead;
  int first_group, end_group;  ///< of the nodes that are first_group … end_group - 1 groups behind,
  int places;                  ///< those that are 0 … places - 1 places behind
  int first_step;              ///< of slice 0; the others follow in as many steps

  int node_count() const { return (end_group - first_group) * places; }
};

/// The rounds of an all-gather, farthest level first.
std::vector<LevelRound> level_rounds(int group_count, int nodes_per_group, int slices);

/// `slices` pieces of each rank's chunk follow each other. Throws ArgumentError for fewer than 1, or too many transfers.
Schedule hierarchical(CollectiveKind kind, const NodeLayout& layout, int slices);
/// The same rank by rank.
ScheduleParts hierarchical_parts(CollectiveKind kind, const NodeLayout& layout, int slices);

std::vector<Algorithm> hierarchical_algorithms();

}  // namespace hemiola::algorithms
