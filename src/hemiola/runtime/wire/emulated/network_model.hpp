// What an emulated network is made of: for each pair of ranks the links between them and their latency, for each
// link its bandwidth and whose port it is. Every rank works it out for itself from the same topology and
// conditions.
#pragma once

#include <span>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/topology/conditions.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola {

class NetworkModel {
 public:
  /// `ranks`: the topology's ranks that take part; they are numbered from 0 in this order. Throws ArgumentError for
  /// a rank or condition that does not fit the topology, or a pair without a path.
  NetworkModel(const Topology& topology, const Conditions& conditions, const std::vector<Rank>& ranks);

  int rank_count() const { return rank_count_; }
  std::span<const int> path(Rank src, Rank dst) const;
  double latency_ns(Rank src, Rank dst) const { return latency_ns_[pair(src, dst)]; }
  /// Bytes per nanosecond of each link while ports are slower by so much, by rank.
  std::vector<double> capacities(std::span<const double> slowdown) const;
  /// The conditions' factors, by rank.
  const std::vector<double>& slowdown() const { return slowdown_; }
  /// Bytes per nanosecond from one rank to another over idle links, nobody slow.
  double bandwidth_Bpns(Rank src, Rank dst) const;
  /// The ports of a rank, numbered from 0: which of them leads to (comes from) each other rank; 0 for the rank itself.
  std::vector<int> sending_ports(Rank rank) const;
  std::vector<int> receiving_ports(Rank rank) const;

 private:
  std::size_t pair(Rank src, Rank dst) const {
    return static_cast<std::size_t>(src) * static_cast<std::size_t>(rank_count_) +
           static_cast<std::size_t>(dst);
  }

  int rank_count_;
  std::vector<std::size_t> path_begin_;  ///< by pair, with an end mark
  std::vector<int> path_links_;
  std::vector<double> latency_ns_;
  std::vector<double> slowdown_;
  struct LinkModel {
    double bandwidth_Bpns;
    double slowdown;  ///< by ranks of the topology that do not take part
    int src, dst;     ///< the ranks that take part at its ends, or -1
  };
  std::vector<LinkModel> links_;
};

/// Gives flows that share links their max-min fair rates: all rates rise together, and a flow stops where a link of its
/// path is full. `paths` and `rates` go together. Cost: O(links * flows).
void share_fairly(std::span<const std::span<const int>> paths, const std::vector<double>& capacities,
                  std::span<double> rates);

}  // namespace hemiola
