// SPDX-License-Identifier: Apache-2.0
// The weighted exchange for hosts with several ranks and one NIC each. Every rail (the ranks of equal place
// on all hosts) runs the exchange over the hosts, with the phases inside the hosts one segment ahead of it
// and one behind.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

/// Ranks are numbered host by host: rank = host * ranks_per_host + rail.
struct RailLayout {
  int host_count = 1;
  int ranks_per_host = 1;
};

/// Body b of segments + 3: inside each host the reduce-scatter of segment b and the all-gather of segment b -
/// 3. Between hosts, on each rail, the reduce-scatter of segment b - 1 and the all-gather of segment b - 2 in
/// shares that follow `slowdown`, one factor per host. With g ranks a host whose links inside it carry g - 1
/// times a NIC and a slow host of l >= 2 the time is [l(k+1) + 2]·s·β / (gk) [cf. OptCC, §4.4, whose bound is
/// l(k + 5.5)]. Throws ArgumentError for fewer than 2 hosts or 1 rank a host, factors below 1 or not finite,
/// segments < 1.
Schedule all_reduce_rail_exchange(const RailLayout& layout, const std::vector<double>& slowdown,
                                  int segments);

std::vector<Algorithm> rail_exchange_algorithms();

}  // namespace hemiola::algorithms
