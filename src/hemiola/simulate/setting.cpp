// SPDX-License-Identifier: Apache-2.0
#include "hemiola/simulate/setting.hpp"

#include <algorithm>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/base/heedful.hpp"
#include "hemiola/schedule/schedule.hpp"
#include "hemiola/topology/slowed_links.hpp"

namespace hemiola::simulation {
namespace {

void check(int rank_count, const Topology& topology, std::int64_t bytes, const Conditions& conditions) {
  if (rank_count != topology.rank_count())
    throw ArgumentError("simulate: expected a schedule and a topology of equally many ranks, found " +
                        std::to_string(rank_count) + " in the schedule and " +
                        std::to_string(topology.rank_count()) + " in topology '" + topology.name() + "'");
  constexpr std::int64_t max_bytes = std::int64_t{1} << 53;  // beyond, a double no longer holds every size
  if (bytes < 0 || bytes > max_bytes / rank_count)
    throw ArgumentError("simulate: expected a buffer of 0 … " + std::to_string(max_bytes / rank_count) +
                        " bytes, found " + std::to_string(bytes));
  conditions.check(topology.rank_count());
}

std::vector<double> sizes_of_chunks(const Collective& collective, std::span<const std::int64_t> chunk_weights,
                                    const Topology& topology, std::int64_t bytes,
                                    const Conditions& conditions) {
  check(collective.rank_count(), topology, bytes, conditions);
  const auto begins = chunk_begins(collective.chunk_count(), chunk_weights, exchange_size(collective, bytes));
  std::vector<double> sizes;
  heedful_reserve(&sizes, begins.size() - 1);
  for_heedful_blocks(begins.size() - 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) sizes.push_back(static_cast<double>(begins[c + 1] - begins[c]));
  });
  return sizes;
}

}  // namespace

Setting::Setting(const Collective& collective, std::span<const std::int64_t> chunk_weights,
                 const Topology& topology, std::int64_t bytes, const Conditions& conditions)
    : chunk_bytes_(sizes_of_chunks(collective, chunk_weights, topology, bytes, conditions)),
      largest_bytes_(*std::max_element(chunk_bytes_.begin(), chunk_bytes_.end())),
      ways_(topology, largest_bytes_) {
  for (Rank rank : indices<Rank>(topology.rank_count()))
    arrival_.push_back(conditions.delay_of(rank) + topology.hardware().launch);
  const std::vector<double> slowdown = link_slowdowns(ways_.topology(), conditions);
  for (std::size_t l = 0; l < slowdown.size(); ++l) {
    const Link& link = ways_.topology().links()[l];
    latency_.push_back(link.latency);
    ps_per_byte_.push_back(static_cast<double>(kSecond) * slowdown[l] / link.bandwidth_Bps);
  }
}

void Setting::check_durations(const Routes& routes) const {
  constexpr double limit = 4e18;  // 45 days
  for (std::uint32_t p = 0; p < routes.pair_count(); ++p) {
    double latencies = 0;
    heed_interrupt(static_cast<std::int64_t>(routes.path(p).size()));
    for (int l : routes.path(p)) {
      latencies += static_cast<double>(latency(l));
      if (largest_bytes_ * ps_per_byte(l) + static_cast<double>(message(l)) + latencies > limit)
        throw ArgumentError("simulate: one message would take link " + std::to_string(ways_.link_of(l)) +
                            " more than 45 days; check the units of size, bandwidth and latency");
    }
  }
}

void fail_too_long() {
  throw ArgumentError(
      "simulate: the schedule would take more than 50 days; check the units of size and bandwidths");
}

}  // namespace hemiola::simulation
