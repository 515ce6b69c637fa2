// SPDX-License-Identifier: Apache-2.0
// Paths side by side from one vertex to another, taken for one link; large messages are divided among them.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "hemiola/topology/topology.hpp"

namespace hemiola {

/// Bytes, so many that bandwidths alone decide which way they go: for callers that know no size.
inline constexpr double kLargeMessage = 1 << 30;

/// A topology as messages of one size see it. Several ways from a vertex to the same other one are a single link, over
/// which a message is divided so that its parts arrive together. Such are parallel links; chains of switches that join
/// nothing else, such as the NICs between a host and the network; and switches that join the same ranks alike, such as
/// several NVSwitches. The link has the bandwidth of all ways, and their mean latency and cost of a message, weighted by
/// bandwidths.
/// Where a message is so small that fewer of the quickest ways have it across sooner, the link stands for these alone.
///
/// Ways are joined where they begin or end at a rank, where one rank is all that is behind them on one side, and where the
/// quickest way is not the one of most bandwidth. Others stay apart: the ranks of a host take turns on its NICs (see
/// Routes).
class JoinedWays {
 public:
  /// O(vertices + links) where nothing is to be joined. `topology` must outlive this.
  JoinedWays(const Topology& topology, double message_bytes);

  /// The one that was given where nothing was joined; else one of the same vertices.
  const Topology& topology() const { return joined_ ? *joined_ : whole_; }
  bool are_joined() const { return joined_.has_value(); }

  /// A link of the topology that was given, for which a link of `topology()` stands.
  int link_of(int joined_link) const;
  /// The links of the topology that was given for which a link of `topology()` stands, each with its share of the bytes,
  /// way by way.
  std::vector<std::pair<int, double>> shares_of(int joined_link) const;
  /// Per link of the topology that was given, how long it is busy, where each link of `topology()` is as long as `busy`
  /// says.
  std::vector<Picoseconds> busy_apart(const std::vector<Picoseconds>& busy) const;

  /// A link of the topology that was given, and how long it is busy for each second of the link that stands for it.
  struct Part {
    int link;
    double busy;
    double share;  ///< of the bytes of a message of that size
  };

 private:
  const Topology& whole_;
  std::optional<Topology> joined_;
  std::vector<std::vector<Part>> parts_;  ///< per link of joined_
};

}  // namespace hemiola
