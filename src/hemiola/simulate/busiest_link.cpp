// SPDX-License-Identifier: Apache-2.0
#include "hemiola/simulate/busiest_link.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "hemiola/schedule/routes.hpp"
#include "hemiola/simulate/setting.hpp"

namespace hemiola {
namespace {

/// The bytes from one rank to another, in all.
struct Load {
  double bytes = 0;
  double messages = 0;
};

std::vector<Load> loads_of_pairs(const Schedule& schedule, const simulation::Setting& setting) {
  std::vector<Load> loads(schedule.pairs().size());
  const std::vector<std::uint32_t> message_of = first_of_same_ranks(schedule.pairs());
  std::vector<std::size_t> last_step(loads.size(), schedule.step_offset().size());
  for (std::size_t s = 0; s + 1 < schedule.step_offset().size(); ++s)
    for (auto t = static_cast<std::size_t>(schedule.step_offset()[s]);
         t < static_cast<std::size_t>(schedule.step_offset()[s + 1]); ++t) {
      const std::uint32_t pair = schedule.link()[t];
      const double bytes = setting.bytes(schedule.chunk()[t]);
      if (bytes == 0) continue;
      loads[pair].bytes += bytes;
      if (std::exchange(last_step[message_of[pair]], s) != s) ++loads[pair].messages;
    }
  return loads;
}

}  // namespace

Picoseconds busiest_link(const Schedule& schedule, const Topology& topology, std::int64_t bytes,
                         const Conditions& conditions) {
  const simulation::Setting setting(schedule.collective(), schedule.chunk_weights(), topology, bytes,
                                    conditions);
  const Routes routes = setting.routes(schedule.pairs());
  const std::vector<Load> of_pair = loads_of_pairs(schedule, setting);
  std::vector<double> busy(static_cast<std::size_t>(setting.topology().link_count()));
  for (std::uint32_t pair = 0; pair < routes.pair_count(); ++pair)
    for (int link : routes.path(pair))
      busy[static_cast<std::size_t>(link)] +=
          of_pair[pair].bytes * setting.ps_per_byte(link) +
          of_pair[pair].messages * static_cast<double>(setting.message(link));
  const double longest = busy.empty() ? 0 : *std::max_element(busy.begin(), busy.end());
  return static_cast<Picoseconds>(simulation::within_limit(longest));
}

}  // namespace hemiola
