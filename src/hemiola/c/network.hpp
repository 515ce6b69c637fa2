// SPDX-License-Identifier: Apache-2.0
// The network that schedules are chosen for: links inside a host and between hosts, measured once when ranks meet, the
// same figures on all of them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hemiola/base/bytes.hpp"
#include "hemiola/c/core.hpp"
#include "hemiola/topology/builders/wiring.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola::c {

/// Of a port while all are busy.
struct PortFigures {
  double latency_s = 0;
  double bandwidth_Bps = 0;  ///< 0: nobody has measured it
  double message_s = 0;      ///< that a message costs beside its latency, where ranks share cores

  bool is_known() const { return bandwidth_Bps > 0; }
  topologies::LinkCost cost() const { return topologies::link_cost(latency_s, bandwidth_Bps, message_s); }
};

struct Figures {
  PortFigures inside;   ///< between ranks of one host
  PortFigures between;  ///< between hosts

  Bytes packed() const;
  /// Throws FormatError for bytes that `packed` has not made.
  static Figures of(std::span<const std::byte> bytes);
  /// Of two measurements the slower one counts.
  void join(const Figures& other);
};

/// The host of each rank, numbered in the order in which ranks name them.
std::vector<int> hosts_of(const Session& session, const std::vector<Rank>& ranks);

/// Whether they have a measurement for every kind of link between ranks on such hosts.
bool are_enough(const Figures& figures, const std::vector<int>& hosts);

/// Measures; collective over the communicator's ranks. Takes a few milliseconds inside a host.
Figures measured(const std::shared_ptr<Session>& session, const std::vector<Rank>& ranks, Core& core,
                 const CommunicatorOptions& options);

/// One port a rank on one switch; on several hosts a port a rank inside, and one that all share for the other hosts.
Topology network_of(const Figures& figures, const std::vector<int>& hosts);

}  // namespace hemiola::c
