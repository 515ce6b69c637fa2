// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/forest/spanning_trees.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/index.hpp"
#include "hemiola/base/interrupt.hpp"
#include "hemiola/base/progress.hpp"
#include "hemiola/synthesis/forest/rooted_tree.hpp"

namespace hemiola::synthesis {
namespace {

using bounds::Edge;

/// Breadth-first trees on the copies that earlier ones left.
class BreadthFirst {
 public:
  BreadthFirst(int vertex_count, const std::vector<Edge>& copies)
      : left_(copies), next_(at(vertex_count)), used_as_root_(at(vertex_count), 0) {
    for (int e = 0; e < static_cast<int>(copies.size()); ++e) {
      next_[at(copies[at(e)].a)].emplace_back(copies[at(e)].b, e);
      next_[at(copies[at(e)].b)].emplace_back(copies[at(e)].a, e);
    }
  }

  /// From the root that reaches most vertices, in fewest levels, and that fewest trees had.
  std::vector<int> grow() {
    using Merit = std::tuple<int, int, int, int>;
    Merit best{1, 0, 0, 0};
    std::vector<int> tree;
    for (int root = 0; root < static_cast<int>(next_.size()); ++root) {
      auto [edges, levels] = grow_from(root);
      const Merit merit{-static_cast<int>(edges.size()), levels, used_as_root_[at(root)], root};
      if (merit >= best) continue;
      best = merit;
      tree = std::move(edges);
    }
    ++used_as_root_[at(std::get<3>(best))];
    for (const int e : tree) --left_[at(e)].capacity;
    return tree;
  }

 private:
  /// Of the edges from the level above a vertex takes the one with most copies left.
  std::pair<std::vector<int>, int> grow_from(int root) const {
    std::vector<int> level{root}, tree, edge_to(next_.size(), kNone), level_of(next_.size(), kNone);
    level_of[at(root)] = 0;
    int levels = 0;
    heed_interrupt(static_cast<std::int64_t>(left_.size()));
    while (true) {
      std::vector<int> below;
      for (const int above : level)
        for (const auto& [v, e] : next_[at(above)]) {
          if (left_[at(e)].capacity == 0) continue;
          if (level_of[at(v)] == kNone) {
            level_of[at(v)] = levels + 1;
            below.push_back(v);
          }
          int& best = edge_to[at(v)];
          if (level_of[at(v)] == levels + 1 &&
              (best == kNone || left_[at(e)].capacity > left_[at(best)].capacity))
            best = e;
        }
      if (below.empty()) return {std::move(tree), levels};
      for (const int v : below) tree.push_back(edge_to[at(v)]);
      level = std::move(below);
      ++levels;
    }
  }

  static constexpr int kNone = -1;
  std::vector<Edge> left_;
  std::vector<std::vector<std::pair<int, int>>> next_;
  std::vector<int> used_as_root_;
};

/// Adds one edge at a time: where no tree has room for it, it takes another's place, which looks for a place in its
/// turn; the shortest such chain leaves every tree without cycles.
class MatroidUnion {
 public:
  MatroidUnion(int vertex_count, const std::vector<Edge>& copies, SpanningTrees trees)
      : vertex_count_(vertex_count), copies_(copies), left_(copies), trees_(std::move(trees)) {
    for (const auto& tree : trees_) {
      is_in_.emplace_back(copies.size(), false);
      for (const int e : tree) {
        is_in_.back()[at(e)] = true;
        --left_[at(e)].capacity;
      }
      hung_.push_back(hang(vertex_count, copies, tree, 0));
    }
  }

  SpanningTrees operator()() {
    std::size_t missing = 0;
    for (const auto& tree : trees_) missing += at(vertex_count_) - 1 - tree.size();
    Parts parts(static_cast<double>(missing));
    while (missing-- > 0) {
      parts.next();
      augment();
    }
    return std::move(trees_);
  }

 private:
  /// The edge that takes another's place, and in which tree.
  struct Exchange {
    int edge = kUnlabelled;
    std::size_t tree = 0;
  };

  void augment() {
    label_.assign(copies_.size(), {});
    top_.assign(trees_.size(), {});
    for (auto& top : top_) {
      top.resize(at(vertex_count_));
      std::iota(top.begin(), top.end(), 0);
    }
    queue_.clear();
    for (int e = 0; e < static_cast<int>(copies_.size()); ++e)
      if (left_[at(e)].capacity > 0) label(e, {kStart, 0});
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      heed_interrupt(static_cast<std::int64_t>(trees_.size()));
      for (std::size_t tree = 0; tree < trees_.size(); ++tree)
        if (!is_in_[tree][at(queue_[i])] && add_or_look_further(queue_[i], tree)) return;
    }
    HEMIOLA_CHECK(false, "trees that fit must be packed");
  }

  void label(int edge, Exchange reached_by) {
    if (label_[at(edge)].edge != kUnlabelled) return;
    label_[at(edge)] = reached_by;
    queue_.push_back(edge);
  }

  /// Either the tree has room for the edge, or every edge of the cycle that it closes may make room.
  bool add_or_look_further(int edge, std::size_t tree) {
    const RootedTree& hung = hung_[tree];
    int a = copies_[at(edge)].a, b = copies_[at(edge)].b;
    if (hung.part[at(a)] != hung.part[at(b)]) {
      add(edge, tree);
      return true;
    }
    for (a = top(tree, a), b = top(tree, b); a != b;) {
      if (hung.depth[at(a)] < hung.depth[at(b)]) std::swap(a, b);
      label(hung.edge[at(a)], {edge, tree});
      top_[tree][at(a)] = hung.parent[at(a)];
      a = top(tree, a);
    }
    return false;
  }

  /// The highest vertex that labelled edges of the tree lead up to.
  int top(std::size_t tree, int v) {
    std::vector<int>& top = top_[tree];
    while (top[at(v)] != v) v = top[at(v)] = top[at(top[at(v)])];
    return v;
  }

  void add(int edge, std::size_t tree) {
    std::vector<std::size_t> changed{tree};
    is_in_[tree][at(edge)] = true;
    for (Exchange by = label_[at(edge)]; by.edge != kStart; by = label_[at(edge)]) {
      is_in_[by.tree][at(edge)] = false;
      is_in_[by.tree][at(by.edge)] = true;
      changed.push_back(by.tree);
      edge = by.edge;
    }
    --left_[at(edge)].capacity;
    for (const std::size_t t : changed) {
      trees_[t].clear();
      for (int e = 0; e < static_cast<int>(copies_.size()); ++e)
        if (is_in_[t][at(e)]) trees_[t].push_back(e);
      hung_[t] = hang(vertex_count_, copies_, trees_[t], 0);
    }
  }

  static constexpr int kUnlabelled = -1, kStart = -2;
  int vertex_count_;
  const std::vector<Edge>& copies_;
  std::vector<Edge> left_;
  SpanningTrees trees_;
  std::vector<std::vector<bool>> is_in_;  ///< per tree and edge
  std::vector<RootedTree> hung_;
  std::vector<Exchange> label_;  ///< per edge that looks for a place, how it lost its own
  std::vector<int> queue_;
  std::vector<std::vector<int>> top_;  ///< per tree and vertex
};

}  // namespace

SpanningTrees pack_spanning_trees(int vertex_count, const std::vector<Edge>& copies, int trees) {
  BreadthFirst breadth_first(vertex_count, copies);
  SpanningTrees packed;
  for (int i = 0; i < trees; ++i) packed.push_back(breadth_first.grow());
  return MatroidUnion(vertex_count, copies, std::move(packed))();
}

}  // namespace hemiola::synthesis
