// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/slow/rail_segments.hpp"

#include <algorithm>

#include "hemiola/algorithms/slow/segments.hpp"
#include "hemiola/topology/slowed_links.hpp"

namespace hemiola::algorithms {

SlowHosts slow_hosts(const Task& task) {
  if (task.topology == nullptr) return {};
  return hemiola::slow_hosts(*task.topology, slowed_bandwidths(*task.topology, task.conditions));
}

std::string why_no_rails(const Task& task) {
  if (task.topology == nullptr) return "expected a topology that says which hosts the ranks share";
  if (slow_hosts(task).factors.empty())
    return "expected hosts of several ranks each, numbered host by host, some with slower NICs than others";
  return "";
}

Variant best_rail_variant(const Task& task, const RailExchange& exchange) {
  const auto bandwidths = host_bandwidths(*task.topology, slowed_bandwidths(*task.topology, task.conditions));
  const int hosts = task.topology->node_count(), per_host = task.rank_count / hosts;
  const double nic = *std::ranges::max_element(bandwidths) / per_host;
  const auto seconds = [&](int segments) {
    const int rounds = (segments + 3) * std::max(exchange.rounds, per_host - 1);
    const double serial = (exchange.load * (segments + 1) + 2) / (per_host * segments);
    return rounds * task.port.latency_s + serial * static_cast<double>(task.nbytes) / nic;
  };
  const std::int64_t per_segment =
      std::int64_t{2} * exchange.chunks * per_host * (hosts * (per_host - 1) + hosts - 1);
  int best = 1;
  for (int segments : kSegmentCounts)
    if (segments * per_segment <= task.most_transfers && seconds(segments) < seconds(best)) best = segments;
  return {.formula_s = task.delay_s() + seconds(best),
          .transfer_count = best * per_segment,
          .parameter = "segments",
          .count = best};
}

}  // namespace hemiola::algorithms
