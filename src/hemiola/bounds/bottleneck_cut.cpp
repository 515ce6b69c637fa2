// SPDX-License-Identifier: Apache-2.0
#include "hemiola/bounds/bottleneck_cut.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include "hemiola/base/progress.hpp"

namespace hemiola::bounds {
namespace {

using Amount = FlowNetwork::Amount;

/// Whether a.shares / a.bandwidth > b.shares / b.bandwidth.
bool is_slower(Amount shares_a, Amount bandwidth_a, Amount shares_b, Amount bandwidth_b) {
  return shares_a * bandwidth_b > shares_b * bandwidth_a;
}

/// 0 … count-1, each far from those before: a rank finds sources near by soon, also on a ring of a thousand.
std::vector<int> spread_out(int count) {
  int stride = 1;
  while (stride < count) stride *= 2;
  std::vector<int> order{0};
  for (; stride > 1; stride /= 2)
    for (int number = stride / 2; number < count; number += stride) order.push_back(number);
  return order;
}

}  // namespace

CutSearch::CutSearch(const Topology& topology, const std::vector<double>& bandwidth_Bps, Sense sense)
    : rank_count_(topology.rank_count()),
      vertex_count_(topology.vertex_count()),
      flow_(vertex_count_ + 2),
      source_(vertex_count_),
      sink_(vertex_count_ + 1) {
  for (int l = 0; l < topology.link_count(); ++l) {
    const Link& link = topology.link(l);
    from_.push_back(link.src);
    to_.push_back(link.dst);
    if (sense == Sense::against_links) std::swap(from_.back(), to_.back());
    bandwidth_.push_back(static_cast<std::int64_t>(std::ceil(bandwidth_Bps[static_cast<std::size_t>(l)])));
    link_arc_.push_back(flow_.add_arc(from_.back(), to_.back(), bandwidth_.back()));
  }
  for (int rank = 0; rank < rank_count_; ++rank) {
    source_arc_.push_back(flow_.add_arc(source_, rank, 0));
    sink_arc_.push_back(flow_.add_arc(rank, sink_, 0));
  }
}

Cut CutSearch::around(std::vector<bool> inside) const {
  Cut cut;
  for (int rank = 0; rank < rank_count_; ++rank) cut.ranks_inside += inside[static_cast<std::size_t>(rank)];
  for (std::size_t l = 0; l < from_.size(); ++l)
    if (inside[static_cast<std::size_t>(from_[l])] && !inside[static_cast<std::size_t>(to_[l])])
      cut.bandwidth_Bps += bandwidth_[l];
  cut.inside = std::move(inside);
  return cut;
}

Cut CutSearch::all_but(Rank rank) const {
  std::vector<bool> inside(static_cast<std::size_t>(vertex_count_), true);
  inside[static_cast<std::size_t>(rank)] = false;
  return around(std::move(inside));
}

Cut CutSearch::before_cut() const {
  std::vector<bool> inside(static_cast<std::size_t>(vertex_count_));
  for (int v = 0; v < vertex_count_; ++v) inside[static_cast<std::size_t>(v)] = flow_.is_before_cut(v);
  return around(std::move(inside));
}

void CutSearch::reset_sources(Amount capacity) {
  for (const int arc : source_arc_) flow_.set_capacity(arc, capacity);
  for (const int arc : sink_arc_) flow_.set_capacity(arc, 0);
}

/// Newton's method on the rate x = bandwidth / ranks at which every rank can spread its share: a rank that cannot
/// get n x shows a cut with a smaller rate, until every rank can.
Cut CutSearch::slowest_spreading() {
  Cut slowest = all_but(Rank{0});
  for (Rank rank : indices<Rank>(rank_count_))
    if (Cut cut = all_but(rank);
        is_slower(cut.ranks_inside, cut.bandwidth_Bps, slowest.ranks_inside, slowest.bandwidth_Bps))
      slowest = std::move(cut);
  bool is_certain = false;
  while (!is_certain) {
    is_certain = true;
    // Everything times ranks_inside, so that the rate is a whole number.
    const Amount rate = slowest.bandwidth_Bps, scale = slowest.ranks_inside, needed = rate * rank_count_;
    for (std::size_t l = 0; l < bandwidth_.size(); ++l)
      flow_.set_capacity(link_arc_[l], bandwidth_[l] * scale);
    reset_sources(rate);
    Parts parts(rank_count_);
    for (const int rank : spread_out(rank_count_)) {
      parts.next();
      if (flow_.max_flow(source_, rank, needed) < needed) {
        slowest = before_cut();
        is_certain = false;
        break;
      }
      // A cut that leaves this rank out has been ruled out: for the others it may count as a source.
      flow_.set_capacity(source_arc_[static_cast<std::size_t>(rank)], needed);
    }
  }
  return slowest;
}

Cut CutSearch::weakest_around(Rank root) {
  Amount all = 1;
  for (std::size_t l = 0; l < bandwidth_.size(); ++l) {
    flow_.set_capacity(link_arc_[l], bandwidth_[l]);
    all += bandwidth_[l];
  }
  reset_sources(0);
  flow_.set_capacity(source_arc_[static_cast<std::size_t>(root)], all);
  Cut weakest;
  Amount least = all;
  Parts parts(rank_count_);
  for (int rank = 0; rank < rank_count_; ++rank) {
    parts.next();
    if (rank == root) continue;
    if (const Amount flow = flow_.max_flow(source_, rank, least); flow < least) {
      least = flow;
      weakest = before_cut();
    }
    flow_.set_capacity(source_arc_[static_cast<std::size_t>(rank)], all);
  }
  return weakest;
}

/// Newton's method again, on the rate at which each other rank can get its share.
Cut CutSearch::slowest_scattering(Rank root) {
  Cut slowest = all_but(Rank{root == 0 ? 1 : 0});
  const auto outside = [&](const Cut& cut) { return rank_count_ - cut.ranks_inside; };
  while (true) {
    const Amount rate = slowest.bandwidth_Bps, scale = outside(slowest), needed = rate * (rank_count_ - 1);
    for (std::size_t l = 0; l < bandwidth_.size(); ++l)
      flow_.set_capacity(link_arc_[l], bandwidth_[l] * scale);
    reset_sources(0);
    for (int rank = 0; rank < rank_count_; ++rank)
      if (rank != root) flow_.set_capacity(sink_arc_[static_cast<std::size_t>(rank)], rate);
    flow_.set_capacity(source_arc_[static_cast<std::size_t>(root)], needed);
    if (flow_.max_flow(source_, sink_, needed) >= needed) return slowest;
    slowest = before_cut();
  }
}

Cut CutSearch::slowest_exchange() {
  Amount all = 1;
  for (std::size_t l = 0; l < bandwidth_.size(); ++l) {
    flow_.set_capacity(link_arc_[l], bandwidth_[l]);
    all += bandwidth_[l];
  }
  reset_sources(0);
  for (const int arc : sink_arc_) flow_.set_capacity(arc, all);
  const auto pairs = [&](const Cut& cut) {
    return static_cast<Amount>(cut.ranks_inside) * (rank_count_ - cut.ranks_inside);
  };
  Cut slowest;
  Parts parts(rank_count_);
  for (int rank = 0; rank + 1 < rank_count_; ++rank) {
    parts.next();
    flow_.set_capacity(source_arc_[static_cast<std::size_t>(rank)], all);
    flow_.set_capacity(sink_arc_[static_cast<std::size_t>(rank)], 0);
    flow_.max_flow(source_, sink_, all);
    Cut cut = before_cut();
    if (rank == 0 || is_slower(pairs(cut), cut.bandwidth_Bps, pairs(slowest), slowest.bandwidth_Bps))
      slowest = std::move(cut);
  }
  return slowest;
}

}  // namespace hemiola::bounds
