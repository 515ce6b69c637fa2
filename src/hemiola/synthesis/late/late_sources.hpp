// SPDX-License-Identifier: Apache-2.0
// Where trees around a late rank come from. Each knows a network and nothing else; around() makes a schedule of them.
#pragma once

#include <map>
#include <vector>

#include "hemiola/synthesis/late/late_trees.hpp"

namespace hemiola::synthesis {

/// Trees packed from the late rank, and from the others to each owner; the latter are packed once.
class PackedAround {
 public:
  /// `buffer_bytes` is for the trees of the others.
  PackedAround(Topology topology, Rank late, std::int64_t buffer_bytes);

  const Topology& topology() const { return topology_; }
  /// Throws ArgumentError as synthesize_forest does, and where the others do not reach each other.
  LateTrees trees(int pieces, std::int64_t buffer_bytes);

 private:
  const std::vector<HopTree>& trees_to(Rank owner);

  Topology topology_;
  Rank late_;
  std::int64_t buffer_bytes_;
  Topology rest_;
  std::map<Rank, std::vector<HopTree>> trees_to_;
};

/// Chunks that flood the links from the late rank, and a reduction of the same chunks among the others, as synthesize finds
/// them. `broadcast`: what the former takes.
LateTrees matched_around(const Topology& topology, Rank late, int chunks, std::int64_t buffer_bytes,
                         Picoseconds* broadcast);

/// Stars where every two ranks are a hop apart: the late rank, an owner, all others.
LateTrees stars_around(int rank_count, Rank late, int pieces);

/// The bandwidth of each rank's NIC, host by host; of its two directions the slower. Throws ArgumentError unless each rank has
/// one link to and one from switches between hosts.
std::vector<std::vector<double>> rail_nics(const Topology& topology, int ranks_per_host);

/// Rails, the ranks of equal place on all hosts, at least two of them, of as many ranks, at least two.
LateTrees rails_around(const std::vector<std::vector<double>>& nics, Rank late, int pieces);

}  // namespace hemiola::synthesis
