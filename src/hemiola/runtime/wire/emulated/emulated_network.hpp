// SPDX-License-Identifier: Apache-2.0
// The parts of an emulated network: for each pair of ranks the links between them and their latency, for each link its
// bandwidth and its port's rank. Every rank works it out for itself from the same topology and conditions.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/wire/network_slowdown.hpp"
#include "hemiola/topology/conditions.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola {

class EmulatedNetwork {
 public:
  /// `ranks`: the topology's ranks that take part; they are numbered from 0 in this order. Throws ArgumentError for
  /// a rank or condition that does not fit the topology, or a pair without a path.
  EmulatedNetwork(const Topology& topology, const Conditions& conditions, const std::vector<Rank>& ranks);

  int rank_count() const { return rank_count_; }
  std::span<const int> path(Rank src, Rank dst) const;
  double latency_ns(Rank src, Rank dst) const { return latency_ns_[pair(src, dst)]; }
  /// The time for which a message of any size occupies a link for itself (`Link::message`).
  double message_ns(int link) const { return links_[static_cast<std::size_t>(link)].message_ns; }
  /// How long it occupies the links of a path, all at once, where they are idle.
  double message_ns(Rank src, Rank dst) const;
  /// The most links of one path that messages occupy so.
  std::size_t most_payments() const { return most_payments_; }
  int link_count() const { return static_cast<int>(links_.size()); }
  /// By how much each link is slower. Throws ArgumentError for a link that there is not, and a factor below 1 or not
  /// finite.
  std::vector<double> link_slowdown(const NetworkSlowdown& slowdown) const;
  /// Bytes per nanosecond of each link while links are slower by so much.
  std::vector<double> capacities(std::span<const double> link_slowdown) const;
  /// The conditions' factors, by rank.
  const std::vector<double>& slowdown() const { return slowdown_; }
  /// How late the conditions make a rank come to every operation.
  std::chrono::nanoseconds arrival_delay(Rank rank) const { return delay_[static_cast<std::size_t>(rank)]; }
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
  std::vector<std::chrono::nanoseconds> delay_;
  struct LinkModel {
    double bandwidth_Bpns;
    double message_ns;
    double slowdown;  ///< by ranks of the topology that do not take part
    int src, dst;     ///< at its ends: ranks that take part, the topology's switches, or -1
  };
  std::vector<LinkModel> links_;
  std::size_t most_payments_ = 0;
};

}  // namespace hemiola
