// SPDX-License-Identifier: Apache-2.0
// The trees; the second is the first with rank 7 - r for r, a symmetry of the machine. A rank that forwards
// in one is a leaf in the other:
//
//            0                       7
//         ┌──┴──┐                 ┌──┴──┐
//         1     2                 6     5
//       ┌─┴─┐                   ┌─┴─┐
//       3   5                   4   2
//       │ ┌─┴─┐                 │ ┌─┴─┐
//       7 4   6                 0 3   1
//
// The paper routes missing edges over a third rank; these trees have none missing, and no edge in common.
#include "hemiola/algorithms/topology/c_cube.hpp"

#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

constexpr int kRankCount = 8;
constexpr int kLevels = 3;  // edges from the root to the deepest leaf

/// In the first tree, by rank; the root's entries are unused.
constexpr std::array<int, kRankCount> kParent{-1, 0, 0, 1, 5, 1, 5, 3};
constexpr std::array<int, kRankCount> kDepth{0, 1, 1, 2, 3, 2, 3, 3};

/// The rank at a place of the first tree, in a tree.
Rank rank_at(int place, int tree) {
  return Rank{tree == 0 ? place : kRankCount - 1 - place};
}

/// Deep ranks begin; the j-th chunk of a tree follows one step behind the one before it.
Step step_up(int place, int j) {
  return Step{kLevels - kDepth[static_cast<std::size_t>(place)] + j};
}
Step step_down(int place, int j) {
  return Step{kLevels - 1 + kDepth[static_cast<std::size_t>(place)] + j};
}

/// Whether a link leads from each rank to each that it sends to, in both trees.
bool has_links_of_trees(const Topology& topology) {
  std::set<std::pair<int, int>> linked;
  for (const Link& link : topology.links()) linked.emplace(link.src, link.dst);
  for (int tree = 0; tree < 2; ++tree)
    for (int place = 1; place < kRankCount; ++place) {
      const Rank child = rank_at(place, tree);
      const Rank parent = rank_at(kParent[static_cast<std::size_t>(place)], tree);
      if (!linked.contains({child, parent}) || !linked.contains({parent, child})) return false;
    }
  return true;
}

std::string why_not(const Task& task) {
  if (task.rank_count == kRankCount && has_links_of_trees(*task.topology)) return "";
  return "expected the links of a DGX-1 between 8 ranks, found " + std::to_string(task.rank_count) +
         " ranks that lack some";
}

constexpr Paper kCho{"cho2023", "Cho, Son, Kim 2023"};

constexpr const char* kDoc =
    R"(All-reduce along two binary trees of a DGX-1, reduce and broadcast overlapped.

Parameters
----------
chunk_count : int, even, >= 2; half of the chunks take each tree.

Returns
-------
Schedule for 8 ranks, numbered as the GPUs of a DGX-1 (V100).

Raises
------
ArgumentError
    if chunk_count is odd or below 2.

Notes
-----
chunk_count / 2 + 5 steps, in each of which a link carries at most one chunk. Source: [cho2023]. The paper routes
edges that its trees lack over a third rank; these trees lack none.)";

}  // namespace

Schedule all_reduce_c_cube(int chunk_count) {
  if (chunk_count < 2 || chunk_count > Collective::kMaxChunks || chunk_count % 2 != 0)
    throw ArgumentError("all_reduce_c_cube: expected an even chunk_count in 2 … " +
                        std::to_string(Collective::kMaxChunks) + ", found " + std::to_string(chunk_count));
  std::vector<Rank> owner;
  for (int chunk = 0; chunk < chunk_count; ++chunk) owner.push_back(rank_at(0, chunk % 2));
  ScheduleBuilder builder(Collective::with_owners(CollectiveKind::all_reduce, kRankCount, std::move(owner)));
  for (int chunk = 0; chunk < chunk_count; ++chunk)
    for (int place = 1; place < kRankCount; ++place) {
      const int tree = chunk % 2;
      const Rank child = rank_at(place, tree);
      const Rank parent = rank_at(kParent[static_cast<std::size_t>(place)], tree);
      builder.reduce(step_up(place, chunk / 2), child, parent, Chunk{chunk});
      builder.copy(step_down(place, chunk / 2), parent, child, Chunk{chunk});
    }
  return builder.finish();
}

std::vector<Algorithm> c_cube_algorithms() {
  return {{.name = "all_reduce_c_cube",
           .kind = CollectiveKind::all_reduce,
           .paper = kCho,
           .idea = "Two binary trees that share no link, reduce and broadcast overlapped.",
           .sizes = "DGX-1: 8 ranks",
           .chunks_formula = "K, even",
           .steps_formula = "",
           .bytes_formula = "",
           .formula = "",
           .needs = Needs::topology,
           .functions = {function("all_reduce_c_cube", {keyword(optional("chunk_count", 16))}, kDoc,
                                  [](int chunk_count) { return all_reduce_c_cube(chunk_count); })},
           .why_not = why_not}};
}

}  // namespace hemiola::algorithms
