// SPDX-License-Identifier: Apache-2.0
// The number of segments that is worth its cost for an exchange on rails where some hosts are slow, and its
// time then.
#pragma once

#include <string>
#include <vector>

#include "hemiola/algorithms/task.hpp"
#include "hemiola/topology/host_links.hpp"

namespace hemiola::algorithms {

/// An exchange over the hosts on every rail.
struct RailExchange {
  double load;  ///< the busiest NIC's load per body, over a rail's share through the fastest host's
  int rounds;   ///< between hosts, in a body
  int chunks;   ///< of a segment, on a rail
};

/// The hosts of a task's topology that are slow under its conditions; none where it has no topology.
SlowHosts slow_hosts(const Task& task);

/// Why a task has no slow hosts that an exchange on rails could spare; empty where it has.
std::string why_no_rails(const Task& task);

/// The best number of segments whose schedule can be simulated, with its cost: [T(k+1) + 2]/(gk) · Nβ for g ranks a host
/// and an exchange over hosts that takes T·(k+1)/k, bandwidth only. For a task with slow hosts.
Variant best_rail_variant(const Task& task, const RailExchange& exchange);

}  // namespace hemiola::algorithms
