// SPDX-License-Identifier: Apache-2.0
// Four nodes of two ranks, recursive; chunks are named by node and place. Rank a's steps on node 0 in an
// all-gather:
//
//   step 0   with node 1: gets 1a            between nodes: distance 1, 2, …, doubling
//   step 1   with node 2: gets 2a 3a
//   step 2   inside: sends 0a 1a 2a 3a to b, and gets its 0b 1b 2b 3b
#include "hemiola/algorithms/levels/pccl.hpp"

#include <bit>
#include <string>

#include "hemiola/algorithms/index/binary.hpp"
#include "hemiola/algorithms/layout_argument.hpp"
#include "hemiola/algorithms/levels/mirrored.hpp"
#include "hemiola/algorithms/papers.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

int phase_steps(int nodes, BetweenNodes between) {
  return between == BetweenNodes::ring ? nodes - 1 : doubling_rounds(nodes);
}

/// Every node passes on to the next the chunk that it got in the step before.
template <typename Visit>
void ring_between(int nodes, Visit visit) {
  for (int step = 0; step < nodes - 1; ++step)
    for (int node = 0; node < nodes; ++node)
      visit(step, node, (node + 1) % nodes, (node - step + nodes) % nodes);
}

/// Two nodes exchange all that they have, nearest partners first [PCCL, §4.3, after Thakur].
template <typename Visit>
void doubling_between(int nodes, Visit visit) {
  for (int step = 0; step < doubling_rounds(nodes); ++step)
    for (int node = 0; node < nodes; ++node) {
      const int held = 1 << step, first = node / held * held;
      for (int owner = first; owner < first + held; ++owner) visit(step, node, node ^ held, owner);
    }
}

/// A ring inside each node, in which a chunk of every node goes at a time.
template <typename Visit>
void ring_inside(const NodeLayout& layout, int first_step, Visit visit) {
  const int size = layout.size(0);
  for (int step = 0; step < size - 1; ++step)
    for (int node = 0; node < layout.node_count(); ++node)
      for (int local = 0; local < size; ++local)
        for (int owner = 0; owner < layout.node_count(); ++owner)
          visit(Transfer{Step{first_step + step}, layout.rank(node, local),
                         layout.rank(node, (local + 1) % size),
                         Chunk{layout.rank(owner, (local - step + size) % size)}, false});
}

BetweenNodes between_from(const std::string& name, const std::string& word) {
  if (word == "ring") return BetweenNodes::ring;
  if (word == "recursive") return BetweenNodes::recursive;
  throw ArgumentError(name + ": between: expected 'ring' or 'recursive', found '" + word.substr(0, 60) + "'");
}

std::string why_not(const Task& task) {
  if (task.topology == nullptr) return why_no_nodes(task);
  std::vector<int> node_of_rank;
  for (Rank rank : indices<Rank>(task.rank_count)) node_of_rank.push_back(task.topology->node_of(rank));
  return NodeLayout::placed(node_of_rank).is_even() ? "" : "expected nodes with equally many ranks each";
}

constexpr const char* kDoc = R"(

The phases follow each other: between the nodes, ranks of equal place in a ring or by recursive doubling; then a ring inside
each node. A reduce-scatter runs them backwards, an all-reduce does both. As it was published, to compare with.

Parameters
----------
nodes : int >= 1; a power of two for 'recursive'.
ranks_per_node : int >= 1, or one for each node, all alike.
between : 'ring' or 'recursive'.
node_of_rank : sequence of int, the node of each rank; None where they are numbered node by node.

Returns
-------
Schedule

Raises
------
ArgumentError
    if a count is out of range, nodes differ, they are no power of two where they must be, `between` is another word,
    node_of_rank says something else than the counts, or the schedule would have more than 2**28 transfers.

Notes
-----
On N nodes of M ranks: (N-1)·α or log2 N·α, + (N-1)/N·m/(KB) + (M-1)(α inside) + (M-1)/M·m/b. [PCCL, eqs. 1 and 2] have
the same bandwidth term, so that by them the ring never wins, as it does in its Figure 6. Distances that double send up
to a group's size times the needed bytes over the uplinks of groups of nodes, where a ring sends them once. [PCCL, §2.2]
exchanges halving and doubling, which §4.3 has right. The final shuffle of [PCCL, Fig. 5] is a local copy, which
schedules do not know.)";

Algorithm row(CollectiveKind kind, std::string_view name, std::string_view idea) {
  const std::string called(name);
  return {
      .name = name,
      .kind = kind,
      .paper = kPccl,
      .idea = idea,
      .sizes = "any nodes of equally many ranks",
      .chunks_formula = "n",
      .steps_formula = "",
      .bytes_formula = "",
      .formula = "",
      .needs = Needs::topology,
      .functions = {function(called,
                             {required("nodes"), required("ranks_per_node"),
                              optional("between", std::string("ring")), keyword(optional("node_of_rank"))},
                             std::string(idea) + kDoc,
                             [kind, called](int nodes, const Counts& ranks_per_node,
                                            const std::string& between, const NodeOfRank& node_of_rank) {
                               return pccl(kind, layout_of(called, {nodes, ranks_per_node, node_of_rank}),
                                           between_from(called, between));
                             })},
      .why_not = why_not};
}

}  // namespace

Schedule pccl(CollectiveKind kind, const NodeLayout& layout, BetweenNodes between) {
  const std::string name = std::string(name_of(kind)) + "_pccl";
  const int nodes = layout.node_count(), size = layout.size(0), first_inside = phase_steps(nodes, between);
  if (!layout.is_even())
    throw ArgumentError(name + ": expected nodes with equally many ranks each, found node 0 with " +
                        std::to_string(size) + " and another with more or fewer");
  if (between == BetweenNodes::recursive && !std::has_single_bit(static_cast<unsigned>(nodes)))
    throw ArgumentError(name + ": between='recursive' takes nodes in a power of two, found " +
                        std::to_string(nodes) + "; take 'ring'");
  return mirrored(name, {kind, first_inside + size - 1}, layout.rank_count(), 1, [&](auto visit) {
    const auto between_nodes = [&](int step, int src, int dst, int owner) {
      for (int local = 0; local < size; ++local)
        visit(Transfer{Step{step}, layout.rank(src, local), layout.rank(dst, local),
                       Chunk{layout.rank(owner, local)}, false});
    };
    if (between == BetweenNodes::ring)
      ring_between(nodes, between_nodes);
    else
      doubling_between(nodes, between_nodes);
    ring_inside(layout, first_inside, visit);
  });
}

std::vector<Algorithm> pccl_algorithms() {
  return {
      row(CollectiveKind::all_gather, "all_gather_pccl",
          "An all-gather between nodes for each local rank, then a ring inside the nodes."),
      row(CollectiveKind::reduce_scatter, "reduce_scatter_pccl",
          "A ring inside the nodes, then a reduce-scatter between nodes for each local rank."),
      row(CollectiveKind::all_reduce, "all_reduce_pccl", "PCCL's reduce-scatter, then its all-gather."),
  };
}

}  // namespace hemiola::algorithms
