// SPDX-License-Identifier: Apache-2.0
// Hosts as the bounds see them: their NICs' bandwidth together, and that of the links inside them.
#pragma once

#include <vector>

#include "hemiola/bounds/problem.hpp"

namespace hemiola::bounds {

struct Hosts {
  int count = 0;
  double inside_Bps = 0;        ///< sum over all ranks of the bandwidth of their links inside their host
  std::vector<double> out_Bps;  ///< per host, the sending bandwidth of its NICs together
  std::vector<double> in_Bps;   ///< per host, their receiving bandwidth
  /// Whether every rank has one NIC each way, every host as many ranks, and a host's NICs are alike.
  bool has_a_nic_per_rank = false;

  /// Every rank a host of its own where `each_rank` is set, even against the topology.
  Hosts(const Problem& problem, bool each_rank);

  int ranks_per_host = 1;
};

}  // namespace hemiola::bounds
