// SPDX-License-Identifier: Apache-2.0
#include "hemiola/bounds/strength.hpp"

#include <algorithm>
#include <numeric>

#include "hemiola/base/index.hpp"

namespace hemiola::bounds {
namespace {

using Amount = FlowNetwork::Amount;

/// Vertices joined to parts, one set after the other.
class Joined {
 public:
  explicit Joined(int vertex_count) : parent_(static_cast<std::size_t>(vertex_count)) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  void join(int a, int b) { parent_[at(root(a))] = root(b); }

  Partition numbered() {
    Partition partition;
    std::vector<int> number(parent_.size(), -1);
    for (int v = 0; v < static_cast<int>(parent_.size()); ++v) {
      int& part = number[at(root(v))];
      if (part < 0) part = partition.part_count++;
      partition.part_of.push_back(part);
    }
    return partition;
  }

 private:
  int root(int vertex) {
    while (parent_[at(vertex)] != vertex) vertex = parent_[at(vertex)] = parent_[at(parent_[at(vertex)])];
    return vertex;
  }

  std::vector<int> parent_;
};

/// Twice the cost of a partition is the sum over its parts S of f(S) = capacity around S - 2 price, which is submodular
/// on sets that meet. Its least sum is that of the values y that grow vertex by vertex as far as y(S) <= f(S)
/// allows. Each vertex stops at a set where they are equal, and the unions of such sets are the parts.
class Greedy {
 public:
  Greedy(int vertex_count, const std::vector<Edge>& edges, Amount scale, Amount price)
      : vertex_count_(vertex_count), price_(price), flow_(vertex_count + 2) {
    for (const Edge& edge : edges) {
      const Amount capacity = edge.capacity * scale;
      flow_.add_arc(edge.a, edge.b, capacity);
      flow_.add_arc(edge.b, edge.a, capacity);
      all_ += 2 * capacity;
    }
    all_ += 2 * price * vertex_count + 1;
    for (int v = 0; v < vertex_count; ++v) {
      from_source_.push_back(flow_.add_arc(source(), v, 0));
      to_sink_.push_back(flow_.add_arc(v, sink(), all_));
    }
  }

  Partition operator()() {
    Joined joined(vertex_count_);
    for (int v = 0; v < vertex_count_; ++v) {
      grow(v);
      for (int u = 0; u < v; ++u)
        if (flow_.is_before_cut(u)) joined.join(u, v);
    }
    return joined.numbered();
  }

 private:
  int source() const { return vertex_count_; }
  int sink() const { return vertex_count_ + 1; }

  /// Vertices behind v are not in any set yet: they stand on the sink's side.
  void grow(int v) {
    const auto i = static_cast<std::size_t>(v);
    flow_.set_capacity(from_source_[i], all_);
    flow_.set_capacity(to_sink_[i], 0);
    const Amount value = flow_.max_flow(source(), sink(), all_) - positive_ - 2 * price_;
    const Amount above = std::max<Amount>(value, 0), below = std::max<Amount>(-value, 0);
    positive_ += above;
    flow_.set_capacity(from_source_[i], above);
    flow_.set_capacity(to_sink_[i], below);
  }

  int vertex_count_;
  Amount price_;
  FlowNetwork flow_;
  std::vector<int> from_source_, to_sink_;
  Amount all_ = 0;       ///< more than ever flows
  Amount positive_ = 0;  ///< the values above 0 so far
};

}  // namespace

Amount Partition::capacity_between(const std::vector<Edge>& edges) const {
  Amount sum = 0;
  for (const Edge& edge : edges)
    if (part_of[static_cast<std::size_t>(edge.a)] != part_of[static_cast<std::size_t>(edge.b)])
      sum += edge.capacity;
  return sum;
}

Partition cheapest_partition(int vertex_count, const std::vector<Edge>& edges, Amount scale, Amount price) {
  return Greedy(vertex_count, edges, scale, price)();
}

Partition weakest_partition(int vertex_count, const std::vector<Edge>& edges) {
  Partition weakest;
  weakest.part_of.resize(static_cast<std::size_t>(vertex_count));
  std::iota(weakest.part_of.begin(), weakest.part_of.end(), 0);
  weakest.part_count = vertex_count;
  // Newton's method on the capacity per part: everything times the parts, so that it is a whole number.
  while (true) {
    const Partition better =
        cheapest_partition(vertex_count, edges, weakest.part_count - 1, weakest.capacity_between(edges));
    if (better.part_count == 1) return weakest;
    const auto cost = [&](const Partition& p) {
      return p.capacity_between(edges) * (weakest.part_count - 1) -
             weakest.capacity_between(edges) * (p.part_count - 1);
    };
    if (cost(better) >= 0) return weakest;
    weakest = better;
  }
}

}  // namespace hemiola::bounds
