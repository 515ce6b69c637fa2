// SPDX-License-Identifier: Apache-2.0
#include "hemiola/simulate/scenario.hpp"

#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/base/interrupt.hpp"

namespace hemiola::simulation {
namespace {

const Schedule& numbered(const Schedule& schedule) {
  constexpr std::int64_t max_transfers = (std::int64_t{1} << 31) - 1;
  if (schedule.transfer_count() >= max_transfers)
    throw ArgumentError("simulate: expected fewer than " + std::to_string(max_transfers) +
                        " transfers, found " + std::to_string(schedule.transfer_count()));
  return schedule;
}

}  // namespace

Scenario::Scenario(const Schedule& schedule, const Topology& topology, std::int64_t bytes,
                   const Conditions& conditions, const Noise& noise)
    : schedule_(numbered(schedule)),
      setting_(schedule.collective(), schedule.chunk_weights(), topology, bytes, conditions),
      routes_(setting_.routes(schedule.pairs())),
      noise_(noise),
      density_(conditions.density) {
  setting_.check_durations(routes_);
}

std::vector<int> Scenario::transit_links() const {
  std::vector<int> transit;
  for (std::uint32_t p = 0; p < routes_.pair_count(); ++p) {
    heed_interrupt(routes_.hop_count(p));
    for (std::uint32_t hop = 1; hop < routes_.hop_count(p); ++hop) transit.push_back(routes_.path(p)[hop]);
  }
  return transit;
}

}  // namespace hemiola::simulation
