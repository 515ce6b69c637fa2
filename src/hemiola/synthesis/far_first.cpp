// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/far_first.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "hemiola/schedule/routes.hpp"

namespace hemiola::synthesis {
namespace {

/// Ranks whose ways are held at a time.
constexpr int kAtOnce = 64;
constexpr int kMostSteps = 64;

/// By src, then dst; 0 within a rank.
std::vector<Picoseconds> latencies_between_ranks(const Topology& topology) {
  const int n = topology.rank_count();
  std::vector<Picoseconds> latency(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
  std::vector<RankPair> pairs;
  for (int first = 0; first < n; first += kAtOnce) {
    pairs.clear();
    for (int src = first; src < std::min(n, first + kAtOnce); ++src)
      for (int dst = 0; dst < n; ++dst)
        if (src != dst) pairs.push_back({Rank{src}, Rank{dst}});
    const Routes routes(topology, pairs, 0);  // latencies are asked for
    for (std::uint32_t pair = 0; pair < routes.pair_count(); ++pair) {
      const auto src = static_cast<std::size_t>(pairs[pair].src),
                 dst = static_cast<std::size_t>(pairs[pair].dst);
      for (const int link : routes.path(pair))
        latency[src * static_cast<std::size_t>(n) + dst] += topology.link(link).latency;
    }
  }
  return latency;
}

/// Of ways that are the farther the shorter their latency is than the longest.
int step_of(Picoseconds latency, Picoseconds longest) {
  if (longest == 0) return 0;
  const double nearness = 1 - static_cast<double>(latency) / static_cast<double>(longest);
  return std::min(kMostSteps - 1, static_cast<int>(nearness * kMostSteps + 1e-9));
}

}  // namespace

Schedule far_first_exchange(const Topology& topology) {
  const int n = topology.rank_count();
  const std::vector<Picoseconds> latency = latencies_between_ranks(topology);
  const Picoseconds longest = *std::max_element(latency.begin(), latency.end());
  const auto between = [&](Rank src, Rank dst) {
    return latency[static_cast<std::size_t>(src) * static_cast<std::size_t>(n) +
                   static_cast<std::size_t>(dst)];
  };
  std::array<bool, kMostSteps> is_used{};
  for (Rank src : indices<Rank>(n))
    for (Rank dst : indices<Rank>(n))
      if (src != dst) is_used[static_cast<std::size_t>(step_of(between(src, dst), longest))] = true;
  std::array<int, kMostSteps> step{};  // of those that have transfers
  for (std::size_t s = 1; s < kMostSteps; ++s) step[s] = step[s - 1] + (is_used[s - 1] ? 1 : 0);
  ScheduleBuilder builder(Collective::make(CollectiveKind::all_to_all, n, std::int64_t{n} * n));
  builder.reserve(std::int64_t{n} * (n - 1));
  for (Rank src : indices<Rank>(n))
    for (Rank dst : indices<Rank>(n))
      if (src != dst)
        builder.copy(Step{step[static_cast<std::size_t>(step_of(between(src, dst), longest))]}, src, dst,
                     Chunk{src * n + dst});
  return builder.finish();
}

}  // namespace hemiola::synthesis
