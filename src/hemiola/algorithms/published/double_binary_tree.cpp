// SPDX-License-Identifier: Apache-2.0
// Seven ranks; the root is outside, the other six are nodes 1 … 6. Odd places are leaves:
//
//   first tree        root              second tree (mirrored)   root
//                      │                                          │
//                      4                                          3
//                    ┌─┴─┐                                      ┌─┴─┐
//                    2   6                                      5   1
//                   1 3  5                                     6 4   2
//
// Each node receives in even steps in one tree and in odd steps in the other; each parent serves one child in
// even and one in odd steps. Such turns exist because the graph of senders and receivers, each with at most
// two edges, consists of paths and even cycles [sanders2009].
#include "hemiola/algorithms/published/double_binary_tree.hpp"

#include <algorithm>

#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {

int DoubleTree::place_parent(int place, int count) {
  const int low = place & -place;
  const int upper = (place ^ low) | (low << 1);
  return upper <= count ? upper : place ^ low;
}

int DoubleTree::place_of(int tree, int node, int count) {
  if (tree == 0) return node;
  if (count % 2 == 0) return count + 1 - node;
  return node == 1 ? count : node - 1;
}

int DoubleTree::node_at(int tree, int place, int count) {
  if (tree == 0) return place;
  if (count % 2 == 0) return count + 1 - place;
  return place == count ? 1 : place + 1;
}

int DoubleTree::parent(int tree, int node) const {
  const int place = place_parent(place_of(tree, node, node_count_), node_count_);
  return place == 0 ? 0 : node_at(tree, place, node_count_);
}

int DoubleTree::depth(int tree, int node) const {
  int edges = 0;
  for (int place = place_of(tree, node, node_count_); (place = place_parent(place, node_count_)) != 0;)
    ++edges;
  return edges;
}

namespace {

/// The relation of a node's turn in the first tree to another node's.
struct Constraint {
  int node;
  bool differs;
};

/// By node: the nodes whose edges come from the same parent, in either tree. Those edges take different
/// turns, so the turns in the first tree differ if both edges are of one tree, and agree otherwise.
std::vector<std::vector<Constraint>> sibling_constraints(const DoubleTree& trees) {
  struct Edge {
    int tree;
    int child;
  };
  const auto size = static_cast<std::size_t>(trees.node_count()) + 1;
  std::vector<std::vector<Edge>> below(size);  // by parent
  for (int tree : {0, 1})
    for (int node = 1; node <= trees.node_count(); ++node)
      below[static_cast<std::size_t>(trees.parent(tree, node))].push_back({tree, node});
  std::vector<std::vector<Constraint>> constraints(size);
  for (const auto& edges : below) {
    HEMIOLA_CHECK(edges.size() <= 2, "a parent with more than two children");
    if (edges.size() < 2) continue;
    const bool differs = edges[0].tree == edges[1].tree;
    constraints[static_cast<std::size_t>(edges[0].child)].push_back({edges[1].child, differs});
    constraints[static_cast<std::size_t>(edges[1].child)].push_back({edges[0].child, differs});
  }
  return constraints;
}

/// Turns of the first tree by node: one free choice for each connected set of constraints, the rest follows.
std::vector<int> choose_turns(const std::vector<std::vector<Constraint>>& constraints) {
  std::vector<int> turns(constraints.size(), -1);
  for (std::size_t start = 1; start < turns.size(); ++start) {
    if (turns[start] >= 0) continue;
    turns[start] = 0;
    std::vector<std::size_t> open{start};
    while (!open.empty()) {
      const std::size_t node = open.back();
      open.pop_back();
      for (const auto& [other, differs] : constraints[node]) {
        const int turn = turns[node] ^ static_cast<int>(differs);
        int& assigned = turns[static_cast<std::size_t>(other)];
        HEMIOLA_CHECK(assigned < 0 || assigned == turn, "an odd cycle of turns");
        if (assigned < 0) open.push_back(static_cast<std::size_t>(other));
        assigned = turn;
      }
    }
  }
  return turns;
}

}  // namespace

DoubleTree::DoubleTree(int rank_count)
    : node_count_(rank_count - 1), first_turn_(choose_turns(sibling_constraints(*this))) {}

namespace {

/// Steps of a broadcast or reduce, each with at most one chunk in and out of every rank.
std::int64_t phase_steps(int n, std::int64_t chunk_count) {
  return n == 1 ? 0 : 2 * (doubling_rounds(n) - 1) + chunk_count;
}

/// Calls visit(step, parent, child, chunk) for every transfer of a broadcast.
template <typename Visit>
void for_each_transfer(const DoubleTree& trees, int chunk_count, Visit visit) {
  for (int tree : {0, 1})
    for (int node = 1; node <= trees.node_count(); ++node) {
      const int parent = trees.parent(tree, node);
      const int first_step = 2 * trees.depth(tree, node) + trees.turn(tree, node);
      for (int chunk = tree; chunk < chunk_count; chunk += 2)
        visit(first_step + chunk - tree, parent, node, Chunk{chunk});
    }
}

Rank rank_of_node(int node, Rank root, int rank_count) {
  return Rank{(node + root) % rank_count};
}

void add_broadcast_phase(ScheduleBuilder* builder, const DoubleTree& trees, Rank root, int first_step) {
  const int n = builder->rank_count();
  for_each_transfer(trees, builder->collective().chunk_count(),
                    [&](int step, int parent, int child, Chunk chunk) {
                      builder->copy(Step{first_step + step}, rank_of_node(parent, root, n),
                                    rank_of_node(child, root, n), chunk);
                    });
}

/// The broadcast backwards; its last chunk of each tree becomes the first.
void add_reduce_phase(ScheduleBuilder* builder, const DoubleTree& trees, Rank root) {
  const int n = builder->rank_count();
  const int chunk_count = builder->collective().chunk_count();
  const int last = static_cast<int>(phase_steps(n, chunk_count)) - 1;
  const auto mirrored = [&](Chunk chunk) {
    return Chunk{chunk % 2 == 0 ? chunk_count - 2 - chunk : chunk_count - chunk};
  };
  for_each_transfer(trees, chunk_count, [&](int step, int parent, int child, Chunk chunk) {
    builder->reduce(Step{last - step}, rank_of_node(child, root, n), rank_of_node(parent, root, n),
                    mirrored(chunk));
  });
}

/// In a broadcast the root, or an inner node with two children, sends every chunk; in a reduce every node
/// does.
Cost phase_cost(int n, int chunk_count) {
  return {.step_count = phase_steps(n, chunk_count),
          .transfer_count = (std::int64_t{n} - 1) * chunk_count,
          .piece_count = chunk_count,
          .sent = n == 1 ? 0 : chunk_count,
          .serialized = phase_steps(n, chunk_count)};
}

Cost all_reduce_cost(int n, int chunk_count) {
  Cost cost = phase_cost(n, chunk_count);
  cost.step_count *= 2;
  cost.transfer_count *= 2;
  cost.serialized *= 2;
  // Nodes send all their chunks up, and down once per child and chunk: two children from four ranks on, one
  // for three.
  if (n == 3) cost.sent += chunk_count / 2;
  if (n >= 4) cost.sent *= 2;
  return cost;
}

/// Filling the trees then costs at most a quarter of the time that the buffer itself needs.
int tree_chunks(int rank_count) {
  return std::max(2, 8 * (doubling_rounds(rank_count) - 1));
}

constexpr Paper kSanders{"sanders2009", "Sanders, Speck, Träff 2009"};

}  // namespace

Schedule broadcast_double_binary_tree(int rank_count, Rank root, int chunk_count) {
  ScheduleBuilder builder(Collective::make(CollectiveKind::broadcast, rank_count, chunk_count, root));
  add_broadcast_phase(&builder, DoubleTree(rank_count), root, 0);
  return builder.finish();
}

Schedule reduce_double_binary_tree(int rank_count, Rank root, int chunk_count) {
  ScheduleBuilder builder(Collective::make(CollectiveKind::reduce, rank_count, chunk_count, root));
  add_reduce_phase(&builder, DoubleTree(rank_count), root);
  return builder.finish();
}

Schedule all_reduce_double_binary_tree(int rank_count, int chunk_count) {
  const DoubleTree trees(rank_count);
  const Rank root{0};
  ScheduleBuilder builder(
      Collective::with_owners(CollectiveKind::all_reduce, rank_count,
                              std::vector<Rank>(static_cast<std::size_t>(chunk_count), root)));
  add_reduce_phase(&builder, trees, root);
  add_broadcast_phase(&builder, trees, root, static_cast<int>(phase_steps(rank_count, chunk_count)));
  return builder.finish();
}

std::vector<Algorithm> double_binary_tree_algorithms() {
  return {
      {.name = "broadcast_double_binary_tree",
       .kind = CollectiveKind::broadcast,
       .paper = kSanders,
       .idea = "Half of the chunks go down each of two binary trees in which inner nodes and leaves swap.",
       .sizes = kAnyRankCount,
       .chunks_formula = "K, even, by default max(2, 8(⌈log2 n⌉-1))",
       .steps_formula = "2⌈log2 n⌉-2+K",
       .bytes_formula = "N",
       .formula = "(2⌈log2 n⌉-2+K)·(α + N/K·β)",
       .cost = phase_cost,
       .generate =
           [](const Request& r) { return broadcast_double_binary_tree(r.rank_count, r.root, r.chunk_count); },
       .default_chunk_count = tree_chunks,
       .chunk_count_multiple = 2},
      {.name = "reduce_double_binary_tree",
       .kind = CollectiveKind::reduce,
       .paper = kSanders,
       .idea = "Half of the chunks go up each of two binary trees in which inner nodes and leaves swap.",
       .sizes = kAnyRankCount,
       .chunks_formula = "K, even, by default max(2, 8(⌈log2 n⌉-1))",
       .steps_formula = "2⌈log2 n⌉-2+K",
       .bytes_formula = "N",
       .formula = "(2⌈log2 n⌉-2+K)·(α + N/K·β)",
       .cost = phase_cost,
       .generate =
           [](const Request& r) { return reduce_double_binary_tree(r.rank_count, r.root, r.chunk_count); },
       .default_chunk_count = tree_chunks,
       .chunk_count_multiple = 2},
      {.name = "all_reduce_double_binary_tree",
       .kind = CollectiveKind::all_reduce,
       .paper = kSanders,
       .idea = "Up and down two binary trees in which inner nodes and leaves swap.",
       .sizes = kAnyRankCount,
       .chunks_formula = "K, even, by default max(2, 8(⌈log2 n⌉-1))",
       .steps_formula = "2(2⌈log2 n⌉-2+K)",
       .bytes_formula = "min(n/2, 2)·N",
       .formula = "2(2⌈log2 n⌉-2+K)·(α + N/K·β)",
       .cost = all_reduce_cost,
       .generate =
           [](const Request& r) { return all_reduce_double_binary_tree(r.rank_count, r.chunk_count); },
       .default_chunk_count = tree_chunks,
       .chunk_count_multiple = 2},
  };
}

}  // namespace hemiola::algorithms
