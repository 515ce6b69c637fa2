// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/forest/tree_packing.hpp"

#include <algorithm>

#include "hemiola/base/error.hpp"
#include "hemiola/base/progress.hpp"
#include "hemiola/bounds/max_flow.hpp"

namespace hemiola::synthesis {
namespace {

struct Growing {
  TreeBatch batch;
  std::vector<int> reached;  ///< the root first, nearer ranks before farther ones
  std::vector<bool> spans;   ///< per rank

  bool is_complete() const { return reached.size() == spans.size(); }
};

class Packing {
 public:
  Packing(CapacityGraph graph, const TreesFrom& trees) : graph_(std::move(graph)) {
    for (int root = 0; root < graph_.rank_count(); ++root) {
      const std::int64_t count = trees[static_cast<std::size_t>(root)];
      if (count == 0) continue;
      std::vector<bool> spans(static_cast<std::size_t>(graph_.rank_count()), false);
      spans[static_cast<std::size_t>(root)] = true;
      growing_.push_back({{root, count, {}}, {root}, std::move(spans)});
    }
  }

  std::vector<TreeBatch> operator()() {
    std::vector<TreeBatch> done;
    std::int64_t trees = 0;
    for (const Growing& growing : growing_) trees += growing.batch.count;
    Parts parts(static_cast<double>(trees));
    // Splitting a batch appends the rest of it.
    for (std::size_t b = 0; b < growing_.size(); ++b) {
      current_ = b;
      while (!growing_[b].is_complete()) grow();
      parts.did(static_cast<double>(growing_[b].batch.count));
      done.push_back(growing_[b].batch);
    }
    return done;
  }

 private:
  /// Adds one link to the batch, or to as many of its trees as it is good for.
  void grow() {
    const std::vector<int> reached = growing_[current_].reached;
    for (const int from : reached)
      for (int to = 0; to < graph_.rank_count(); ++to) {
        if (growing_[current_].spans[static_cast<std::size_t>(to)] || graph_.at(from, to) == 0) continue;
        if (const std::int64_t count = most_trees_over(from, to); count > 0) return extend(from, to, count);
      }
    HEMIOLA_CHECK(false, "trees that fit must be packed");
  }

  void extend(int from, int to, std::int64_t count) {
    if (count < growing_[current_].batch.count) {
      Growing rest = growing_[current_];
      rest.batch.count -= count;
      growing_[current_].batch.count = count;
      growing_.push_back(std::move(rest));
    }
    Growing& grown = growing_[current_];
    grown.batch.links.emplace_back(from, to);
    grown.reached.push_back(to);
    grown.spans[static_cast<std::size_t>(to)] = true;
    graph_.at(from, to) -= count;
  }

  /// How many trees of the batch may take the link so that all other trees can still be completed. It is the
  /// flow from one end to the other, also through the unfinished batches, beyond their own needs [ForestColl,
  /// Theorem 10].
  std::int64_t most_trees_over(int from, int to) const {
    const std::int64_t wanted = std::min(graph_.at(from, to), growing_[current_].batch.count);
    const int ranks = graph_.rank_count();
    bounds::FlowNetwork flow(ranks + static_cast<int>(growing_.size()));
    for (int u = 0; u < ranks; ++u)
      for (int v = 0; v < ranks; ++v)
        if (graph_.at(u, v) > 0) flow.add_arc(u, v, graph_.at(u, v));
    std::int64_t others = 0;
    for (std::size_t b = current_ + 1; b < growing_.size(); ++b) {
      const Growing& other = growing_[b];
      others += other.batch.count;
      const int vertex = ranks + static_cast<int>(b);
      flow.add_arc(from, vertex, other.batch.count);
      for (const int rank : other.reached) flow.add_arc(vertex, rank, other.batch.count);
    }
    const auto flowing = static_cast<std::int64_t>(flow.max_flow(from, to, others + wanted));
    return std::max<std::int64_t>(0, std::min(wanted, flowing - others));
  }

  CapacityGraph graph_;
  std::vector<Growing> growing_;
  std::size_t current_ = 0;
};

}  // namespace

std::vector<TreeBatch> pack_trees(CapacityGraph graph, const TreesFrom& trees) {
  return Packing(std::move(graph), trees)();
}

}  // namespace hemiola::synthesis
