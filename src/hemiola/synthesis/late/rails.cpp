// SPDX-License-Identifier: Apache-2.0
// Around a late rank on hosts whose ranks have a NIC each, three hosts of two ranks, L the late rank:
//
//     wait     in each host to the rail's rank, then from host to host to the late one's
//     finish   L to the owner, which is on L's host; from host to host, slow NICs last; in each host to all others
//
// L's own rail: another rank of the late host is the owner in its place, in turn, and who stands on that rail beside the last
// rank brings it the sum.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "hemiola/base/error.hpp"
#include "hemiola/synthesis/late/late_sources.hpp"

namespace hemiola::synthesis {
namespace {

/// Shares of the buffer are cut into so many parts.
constexpr double kParts = 1 << 20;

class Rails {
 public:
  Rails(const std::vector<std::vector<double>>& nics, Rank late)
      : nics_(nics), per_host_(static_cast<int>(nics[0].size())), late_(late), late_host_(late / per_host_) {}

  void add(LateTrees* trees, int piece) const {
    for (int rail = 0; rail < per_host_; ++rail) {
      const Rank owner = owner_of(piece, rail);
      const std::vector<int> along = hosts_along(rail);
      trees->wait.push_back(wait(piece, rail, owner, along));
      trees->finish.push_back(finish(piece, rail, owner, along));
      trees->owner.push_back(owner);
      trees->weight.push_back(part_of(rail));
    }
  }

 private:
  Rank rank(int host, int rail) const { return Rank{host * per_host_ + rail}; }

  /// Where a chunk is reduced in the wait: on the late host, on its rail, or beside the late rank in turn.
  Rank owner_of(int piece, int rail) const {
    const bool is_late = rank(late_host_, rail) == late_;
    return rank(late_host_, is_late ? (rail + 1 + piece % (per_host_ - 1)) % per_host_ : rail);
  }

  /// The late host, then the others, slow NICs last: there they hold nobody up.
  std::vector<int> hosts_along(int rail) const {
    std::vector<int> hosts(nics_.size());
    std::iota(hosts.begin(), hosts.end(), 0);
    std::stable_sort(hosts.begin(), hosts.end(), [&](int a, int b) {
      if ((a == late_host_) != (b == late_host_)) return a == late_host_;
      return nics_[at(a)][at(rail)] > nics_[at(b)][at(rail)];
    });
    return hosts;
  }

  HopTree wait(int piece, int rail, Rank owner, const std::vector<int>& along) const {
    const bool is_late_rail = rank(late_host_, rail) == late_;
    const Rank beside = rank(along[1], owner % per_host_);
    HopTree tree;
    for (const int host : along) {
      const Rank center = host == late_host_ ? owner : rank(host, rail);
      for (int other = 0; other < per_host_; ++other) {
        const Rank src = rank(host, other);
        const bool comes_later = is_late_rail && src == beside;
        if (src != center && src != late_ && !comes_later) tree.add({src, center}, piece);
      }
    }
    std::int32_t date = piece;
    for (std::size_t i = along.size() - 1; i > 1; --i)
      tree.add({rank(along[i], rail), rank(along[i - 1], rail)}, ++date);
    const Rank last = rank(along[1], rail);
    if (is_late_rail) tree.add({last, beside}, ++date);
    tree.add({is_late_rail ? beside : last, owner}, ++date);
    tree.adding = static_cast<std::uint32_t>(tree.hops.size());
    return tree;
  }

  HopTree finish(int piece, int rail, Rank owner, const std::vector<int>& along) const {
    HopTree tree{.adding = 1};
    std::int32_t date = piece;
    tree.add({late_, owner}, date);
    if (rank(late_host_, rail) == late_) tree.add({owner, late_}, ++date);  // its NIC is the rail's
    for (std::size_t i = 0; i < along.size(); ++i) {
      ++date;
      const Rank own = rank(along[i], rail), source = i == 0 ? owner : own;
      if (i + 1 < along.size()) tree.add({own, rank(along[i + 1], rail)}, date);
      for (int other = 0; other < per_host_; ++other)
        if (const Rank dst = rank(along[i], other); dst != source && dst != own)
          tree.add({source, dst}, date);
    }
    return tree;
  }

  /// A rail carries as much as its slowest NIC leaves it time for.
  std::int64_t part_of(int rail) const {
    double sum = 0;
    for (int other = 0; other < per_host_; ++other) sum += slowest(other);
    return std::max<std::int64_t>(1, std::llrint(kParts * slowest(rail) / sum));
  }
  double slowest(int rail) const {
    double least = nics_[0][at(rail)];
    for (const std::vector<double>& host : nics_) least = std::min(least, host[at(rail)]);
    return least;
  }

  const std::vector<std::vector<double>>& nics_;
  const int per_host_;
  const Rank late_;
  const int late_host_;
};

}  // namespace

std::vector<std::vector<double>> rail_nics(const Topology& topology, int ranks_per_host) {
  const int ranks = topology.rank_count();
  std::map<int, std::set<int>> joined;  // by switch, the hosts that send there
  for (const Link& link : topology.links())
    if (link.src < ranks && link.dst >= ranks) joined[link.dst].insert(topology.node_of(Rank{link.src}));
  std::vector<int> out(at(ranks), 0), in(at(ranks), 0);
  std::vector<double> nic(at(ranks), Topology::kMaxBandwidth_Bps);
  for (const Link& link : topology.links()) {
    const bool leaves = link.src < ranks && link.dst >= ranks;
    if (leaves == (link.src >= ranks && link.dst < ranks)) continue;
    const auto [rank, hub] = leaves ? std::pair{link.src, link.dst} : std::pair{link.dst, link.src};
    if (!joined.contains(hub) || joined[hub].size() < 2) continue;
    ++(leaves ? out : in)[at(rank)];
    nic[at(rank)] = std::min(nic[at(rank)], link.bandwidth_Bps);
  }
  const auto is_one = [](int count) { return count == 1; };
  if (!std::all_of(out.begin(), out.end(), is_one) || !std::all_of(in.begin(), in.end(), is_one))
    throw ArgumentError("late_rails: expected one link to and from switches between hosts for every rank");
  std::vector<std::vector<double>> by_host;
  for (auto rank = nic.begin(); rank != nic.end(); rank += ranks_per_host)
    by_host.emplace_back(rank, rank + ranks_per_host);
  return by_host;
}

LateTrees rails_around(const std::vector<std::vector<double>>& nics, Rank late, int pieces) {
  LateTrees trees;
  const Rails rails(nics, late);
  for (int piece = 0; piece < pieces; ++piece) rails.add(&trees, piece);
  return trees;
}

}  // namespace hemiola::synthesis
