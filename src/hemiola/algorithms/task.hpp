// SPDX-License-Identifier: Apache-2.0
// The question that is put to an algorithm when a schedule is chosen: the operation, its network and its
// conditions. The answer: the chunk or segment counts that are worth trying, each with its cost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hemiola/algorithms/node_network.hpp"
#include "hemiola/schedule/collective.hpp"
#include "hemiola/topology/conditions.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola::algorithms {

/// A one-port network as the cost formulas see it.
struct PortSpeed {
  double latency_s;  ///< of a message, including the time that it occupies its port beside its bytes
  double bandwidth_Bps;
  double message_s = 0;  ///< the latter alone, which each further message of a step costs
};

/// Transfers that a plan with the usual effort has time to simulate.
inline constexpr std::int64_t kMostSimulated = 1'000'000;

/// A collective over ranks whose ports have that speed.
struct Task {
  CollectiveKind kind;
  int rank_count;
  std::int64_t nbytes;
  PortSpeed port;
  Conditions conditions;
  Rank root{0};
  const Topology* topology = nullptr;  ///< null where only the ports' speed is known
  /// Of a schedule that is simulated. Beyond, one rank's or port's work says more than formulas that know one port.
  std::int64_t most_transfers = kMostSimulated;

  /// How long the buffer takes through a port.
  double serial_s() const { return static_cast<double>(nbytes) / port.bandwidth_Bps; }
  /// How long the last rank is late.
  double delay_s() const;
  /// The ranks that are late at all, in order of arrival, with their delays in seconds.
  std::vector<std::pair<double, Rank>> late() const;
  /// One slowdown per rank.
  std::vector<double> factors() const;
  /// Its nodes' relation to each other; null where they are not joined by switches, or where it has no
  /// topology. Looked at once, by one thread.
  const NodeNetwork* nodes() const;

  mutable std::optional<std::optional<NodeNetwork>> seen_nodes = {};
};

/// Why a task does not say which nodes its ranks share; empty where it does.
std::string why_no_nodes(const Task& task);

/// Why a task has too few ranks for an algorithm that takes so many; empty where it has enough.
std::string too_few_ranks(const Task& task, int least);

/// A choice that is worth trying for a task.
struct Variant {
  double formula_s;  ///< the cost formula's time, delays included
  std::int64_t transfer_count;
  std::string parameter = {};  ///< which parameter of the function is chosen; empty: none
  int count = 0;               ///< its value
  bool is_simulation = false;  ///< whether a simulation would find formula_s, too
};

}  // namespace hemiola::algorithms
