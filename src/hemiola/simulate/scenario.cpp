#include "hemiola/simulate/scenario.hpp"

#include <algorithm>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/topology/slowed_links.hpp"

namespace hemiola::simulation {
namespace {

const Schedule& checked(const Schedule& schedule, const Topology& topology, std::int64_t bytes,
                        const Conditions& conditions) {
  if (schedule.rank_count() != topology.rank_count())
    throw ArgumentError("simulate: expected a schedule and a topology of equally many ranks, found " +
                        std::to_string(schedule.rank_count()) + " in the schedule and " +
                        std::to_string(topology.rank_count()) + " in topology '" + topology.name() + "'");
  constexpr std::int64_t max_bytes = std::int64_t{1} << 53;  // beyond, a double no longer holds every size
  if (bytes < 0 || bytes > max_bytes / schedule.rank_count())
    throw ArgumentError("simulate: expected a buffer of 0 … " +
                        std::to_string(max_bytes / schedule.rank_count()) + " bytes, found " +
                        std::to_string(bytes));
  constexpr std::int64_t max_transfers = (std::int64_t{1} << 31) - 1;
  if (schedule.transfer_count() >= max_transfers)
    throw ArgumentError("simulate: expected fewer than " + std::to_string(max_transfers) +
                        " transfers, found " + std::to_string(schedule.transfer_count()));
  conditions.check(topology.rank_count());
  return schedule;
}

}  // namespace

Scenario::Scenario(const Schedule& schedule, const Topology& topology, std::int64_t bytes,
                   const Conditions& conditions, const Noise& noise)
    : schedule_(checked(schedule, topology, bytes, conditions)),
      topology_(topology),
      routes_(topology, schedule.pairs()),
      noise_(noise) {
  const auto begins = chunk_begins(schedule, exchange_size(schedule.collective(), bytes));
  for (std::size_t c = 0; c + 1 < begins.size(); ++c)
    chunk_bytes_.push_back(static_cast<double>(begins[c + 1] - begins[c]));
  for (Rank rank : indices<Rank>(topology.rank_count())) arrival_.push_back(conditions.delay_of(rank));
  slow_down_links(conditions);
  check_durations();
}

void Scenario::slow_down_links(const Conditions& conditions) {
  const std::vector<double> slowdown = link_slowdowns(topology_, conditions);
  for (std::size_t l = 0; l < slowdown.size(); ++l) {
    const Link& link = topology_.links()[l];
    latency_.push_back(link.latency);
    ps_per_byte_.push_back(static_cast<double>(kSecond) * slowdown[l] / link.bandwidth_Bps);
  }
}

void Scenario::check_durations() const {
  constexpr double limit = 4e18;  // 45 days
  const double largest = *std::max_element(chunk_bytes_.begin(), chunk_bytes_.end());
  for (std::uint32_t p = 0; p < routes_.pair_count(); ++p) {
    double latencies = 0;
    for (int l : routes_.path(p)) {
      latencies += static_cast<double>(latency(l));
      if (largest * ps_per_byte(l) + latencies > limit)
        throw ArgumentError("simulate: one message would take link " + std::to_string(l) +
                            " more than 45 days; check the units of size, bandwidth and latency");
    }
  }
}

void fail_too_long() {
  throw ArgumentError(
      "simulate: the schedule would take more than 50 days; check the units of size and bandwidths");
}

std::vector<int> Scenario::transit_links() const {
  std::vector<int> transit;
  for (std::uint32_t p = 0; p < routes_.pair_count(); ++p)
    for (int link : routes_.path(p).subspan(1)) transit.push_back(link);
  return transit;
}

}  // namespace hemiola::simulation
