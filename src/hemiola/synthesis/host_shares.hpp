// SPDX-License-Identifier: Apache-2.0
// A broadcast, or a reduce, between hosts of several ranks, each with a port of its own: shares that go through all ranks.
//
//   root ──► ranks of its host, a slice each ──► rank of the same number on each other host, a share of it each
//        ──► ranks of that number on all hosts ──► all ranks of a host
#pragma once

#include "hemiola/schedule/schedule.hpp"

namespace hemiola::synthesis {

struct HostShares {
  int host_count = 0, ranks_per_host = 0;  ///< ranks are numbered host by host
  Rank root{0};
  int pieces = 1;  ///< of each share, one behind the other
};

/// A slice for each rank of a host, and of that a share for each host but the root's. Throws ArgumentError for fewer than
/// two hosts or one rank a host, a root that is none, or no pieces.
/// Cost: O(1) per transfer, of which there are pieces * (ranks - ranks_per_host) * (ranks - 1), and O(ranks * hosts *
/// pieces). Transfers are made in the schedule's own order, so that nothing is sorted.
Schedule broadcast_through_hosts(const HostShares& shares);
/// That backwards: the result of reverse(), without sorting it.
Schedule reduce_through_hosts(const HostShares& shares);

}  // namespace hemiola::synthesis
