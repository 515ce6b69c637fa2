// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/forest/shallow_trees.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "hemiola/base/index.hpp"
#include "hemiola/base/interrupt.hpp"
#include "hemiola/synthesis/forest/rooted_tree.hpp"

namespace hemiola::synthesis {
namespace {

using bounds::Edge;

/// Vertices looked at, a fraction of a second, and times that each tree gets its turn.
constexpr std::int64_t kMostWork = 100'000'000;
constexpr int kMostRounds = 100;

/// Trees that are all equally deep weigh less than some deep and some flat ones.
std::int64_t weight(int depth) {
  return std::int64_t{depth} * depth;
}

/// One tree, hung up, with the data for trying exchanges on it.
class Hung {
 public:
  Hung(const std::vector<Edge>& graph, int vertex_count, std::vector<int> edges)
      : graph_(graph), edges_(std::move(edges)), first_(at(vertex_count)), end_(at(vertex_count)) {
    hang_by(hang_by_center(vertex_count, graph, edges_).order[0]);
  }

  const std::vector<int>& edges() const { return edges_; }
  bool has(int edge) const { return child_end(edge) >= 0; }
  int depth(int v) const { return tree_.depth[at(v)]; }
  int parent(int v) const { return tree_.parent[at(v)]; }
  int edge_above(int v) const { return tree_.edge[at(v)]; }
  bool is_below(int v, int top) const {
    return first_[at(top)] <= first_[at(v)] && first_[at(v)] < end_[at(top)];
  }
  /// The lower end of a tree's edge; -1 for others.
  int child_end(int edge) const {
    const Edge& e = graph_[at(edge)];
    return edge_above(e.a) == edge ? e.a : edge_above(e.b) == edge ? e.b : -1;
  }
  bool can_exchange(int out, int in) const {
    const int top = child_end(out);
    return is_below(graph_[at(in)].a, top) != is_below(graph_[at(in)].b, top);
  }

  /// The change of the weight if the subtree on `out` hangs on `in`.
  std::int64_t growth(int out, int in, std::int64_t* work) const {
    const int top = child_end(out);
    int inside = graph_[at(in)].a, outside = graph_[at(in)].b;
    if (!is_below(inside, top)) std::swap(inside, outside);
    // Each vertex on the way up to `top` takes along the vertices that hang below it but not below the one
    // before it.
    std::int64_t sum = 0;
    int done_first = first_[at(inside)], done_end = done_first;
    int new_depth = depth(outside) + 1;
    for (int v = inside;; v = parent(v), ++new_depth) {
      const int shift = new_depth - depth(v);
      sum += growth_by(shift, first_[at(v)], done_first) + growth_by(shift, done_end, end_[at(v)]);
      done_first = first_[at(v)];
      done_end = end_[at(v)];
      *work += done_end - done_first;
      if (v == top) return sum;
    }
  }

  void exchange(int out, int in) {
    *std::find(edges_.begin(), edges_.end(), out) = in;
    hang_by(tree_.order[0]);
  }

  /// Hangs it by its center; whether that is new.
  bool center() {
    const int root = hang_by_center(static_cast<int>(first_.size()), graph_, edges_).order[0];
    if (root == tree_.order[0]) return false;
    hang_by(root);
    return true;
  }

 private:
  /// Where the vertices of these numbers sink by `shift`.
  std::int64_t growth_by(int shift, int first, int end) const {
    std::int64_t sum = 0;
    for (int i = first; i < end; ++i) sum += weight(depth_of_[at(i)] + shift) - weight(depth_of_[at(i)]);
    return sum;
  }

  void hang_by(int root) {
    tree_ = hang(static_cast<int>(first_.size()), graph_, edges_, root);
    // Numbers the vertices such that those below one follow it.
    std::vector<int> below(first_.size(), 1);
    for (std::size_t i = tree_.order.size(); --i > 0;)
      below[at(parent(tree_.order[i]))] += below[at(tree_.order[i])];
    std::vector<int> next(first_.size(), 0);
    depth_of_.resize(first_.size());
    for (const int v : tree_.order) {
      first_[at(v)] = parent(v) < 0 ? 0 : next[at(parent(v))];
      end_[at(v)] = first_[at(v)] + below[at(v)];
      next[at(v)] = first_[at(v)] + 1;
      if (parent(v) >= 0) next[at(parent(v))] = end_[at(v)];
      depth_of_[at(first_[at(v)])] = depth(v);
    }
  }

  const std::vector<Edge>& graph_;
  std::vector<int> edges_;
  RootedTree tree_;
  std::vector<int> first_, end_;  ///< per vertex, the numbers of those below it, itself first
  std::vector<int> depth_of_;     ///< per number
};

class Exchanges {
 public:
  Exchanges(int vertex_count, const std::vector<Edge>& copies, const SpanningTrees& trees)
      : left_(copies), around_(at(vertex_count)) {
    for (int e = 0; e < static_cast<int>(copies.size()); ++e) {
      around_[at(copies[at(e)].a)].push_back(e);
      around_[at(copies[at(e)].b)].push_back(e);
    }
    for (const auto& tree : trees) {
      hung_.emplace_back(copies, vertex_count, tree);
      for (const int e : tree) --left_[at(e)].capacity;
    }
  }

  SpanningTrees operator()() {
    // Hanging a tree by its middle may make it heavier, so that rounds could go on for ever.
    bool helps = true;
    for (int round = 0; helps && round < kMostRounds && work_ < kMostWork; ++round) {
      helps = false;
      for (std::size_t tree = 0; tree < hung_.size(); ++tree) helps |= lift(tree);
      for (Hung& hung : hung_) helps |= hung.center();
    }
    SpanningTrees trees;
    for (const Hung& hung : hung_) trees.push_back(hung.edges());
    return trees;
  }

 private:
  /// Of the tree and perhaps another one.
  struct Swap {
    std::int64_t growth = 0;
    int out = -1, in = -1;
    std::size_t other = 0;
  };

  /// Hangs vertices of the tree higher; whether there was one.
  bool lift(std::size_t tree) {
    bool helps = false;
    heed_interrupt(static_cast<std::int64_t>(left_.size()));
    for (int v = 0; v < static_cast<int>(around_.size()); ++v)
      for (const int in : around_[at(v)]) {
        if (hung_[tree].has(in)) continue;
        const int up = left_[at(in)].a == v ? left_[at(in)].b : left_[at(in)].a;
        if (hung_[tree].depth(up) + 1 >= hung_[tree].depth(v)) continue;
        const Swap best = best_swap(tree, v, up, in);
        if (best.growth >= 0) continue;
        apply(tree, best);
        helps = true;
      }
    return helps;
  }

  Swap best_swap(std::size_t tree, int v, int up, int in) {
    Swap best;
    for (; !hung_[tree].is_below(up, v); v = hung_[tree].parent(v)) {
      const int out = hung_[tree].edge_above(v);
      const std::int64_t growth = hung_[tree].growth(out, in, &work_);
      if (growth >= best.growth) continue;
      if (left_[at(in)].capacity > 0) {
        best = {growth, out, in, tree};
        continue;
      }
      for (std::size_t other = 0; other < hung_.size(); ++other) {
        if (other == tree || !hung_[other].has(in) || hung_[other].has(out) ||
            !hung_[other].can_exchange(in, out))
          continue;
        const std::int64_t both = growth + hung_[other].growth(in, out, &work_);
        if (both < best.growth) best = {both, out, in, other};
      }
    }
    return best;
  }

  void apply(std::size_t tree, const Swap& swap) {
    hung_[tree].exchange(swap.out, swap.in);
    if (swap.other != tree) {
      hung_[swap.other].exchange(swap.in, swap.out);
    } else {
      --left_[at(swap.in)].capacity;
      ++left_[at(swap.out)].capacity;
    }
  }

  std::vector<Edge> left_;
  std::vector<std::vector<int>> around_;  ///< per vertex, its edges
  std::vector<Hung> hung_;
  std::int64_t work_ = 0;
};

}  // namespace

void make_shallow(int vertex_count, const std::vector<Edge>& copies, SpanningTrees* trees) {
  *trees = Exchanges(vertex_count, copies, *trees)();
}

}  // namespace hemiola::synthesis
