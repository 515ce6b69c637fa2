// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "hemiola/base/units.hpp"
#include "hemiola/bounds/hosts.hpp"
#include "hemiola/bounds/problem.hpp"

namespace hemiola::bounds {
namespace {

/// The bytes that must pass from host to host: a host is one rank that holds all its ranks' data [OptCC,
/// Lemma 10].
std::int64_t bytes_between_hosts(const Problem& problem, int host_count) {
  switch (problem.kind) {
    case CollectiveKind::all_reduce:
      return 2 * (host_count - 1) * problem.bytes;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
      return (host_count - 1) * problem.bytes;
    default:
      return 0;
  }
}

}  // namespace

Bound host_traffic_bound(const Problem& problem) {
  const int host_count = problem.topology.node_count();
  if (host_count == problem.rank_count() || host_count == 1)
    return {"hosts", 0, "no host has several ranks, or one has all"};
  const std::int64_t bytes = bytes_between_hosts(problem, host_count);
  if (bytes == 0)
    return {"hosts", 0, "what hosts send each other is not bounded together for this collective"};
  const Hosts hosts(problem, false);
  const double sent = std::accumulate(hosts.out_Bps.begin(), hosts.out_Bps.end(), 0.0);
  const double received = std::accumulate(hosts.in_Bps.begin(), hosts.in_Bps.end(), 0.0);
  const double bandwidth = std::min(sent, received);
  if (bandwidth <= 0) return {"hosts", 0, "no rank has a NIC of its own"};
  return {"hosts",
          round_down(static_cast<double>(bytes) / bandwidth * static_cast<double>(kSecond) * (1 - 1e-12)),
          "all hosts together must send " + format_bytes(bytes) + " through NICs of " +
              format_bandwidth(bandwidth)};
}

}  // namespace hemiola::bounds
