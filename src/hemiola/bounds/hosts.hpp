// Hosts as the bounds see them: what their NICs carry together, and what the links inside them do.
#pragma once

#include <vector>

#include "hemiola/bounds/problem.hpp"

namespace hemiola::bounds {

struct Hosts {
  int count = 0;
  double inside_Bps = 0;        ///< sum over all ranks of what leaves them over links inside their host
  std::vector<double> out_Bps;  ///< per host, what its NICs send together
  std::vector<double> in_Bps;   ///< per host, what they receive
  /// Whether every rank has one NIC each way, every host as many ranks, and a host's NICs are alike.
  bool has_a_nic_per_rank = false;

  /// Every rank a host of its own where `each_rank` is set, whatever the topology says.
  Hosts(const Problem& problem, bool each_rank);

  int ranks_per_host = 1;
};

}  // namespace hemiola::bounds
