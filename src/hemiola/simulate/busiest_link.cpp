#include "hemiola/simulate/busiest_link.hpp"

#include <algorithm>
#include <vector>

#include "hemiola/schedule/routes.hpp"
#include "hemiola/simulate/setting.hpp"

namespace hemiola {

Picoseconds busiest_link(const Schedule& schedule, const Topology& topology, std::int64_t bytes,
                         const Conditions& conditions) {
  const simulation::Setting setting(schedule.collective(), schedule.chunk_weights(), topology, bytes,
                                    conditions);
  const Routes routes(topology, schedule.pairs());
  std::vector<double> bytes_of_pair(routes.pair_count());
  for (std::size_t t = 0; t < schedule.link().size(); ++t)
    bytes_of_pair[schedule.link()[t]] += setting.bytes(schedule.chunk()[t]);
  std::vector<double> bytes_of_link(static_cast<std::size_t>(topology.link_count()));
  for (std::uint32_t pair = 0; pair < routes.pair_count(); ++pair)
    for (int link : routes.path(pair)) bytes_of_link[static_cast<std::size_t>(link)] += bytes_of_pair[pair];
  double longest = 0;
  for (int link = 0; link < topology.link_count(); ++link)
    longest = std::max(longest, bytes_of_link[static_cast<std::size_t>(link)] * setting.ps_per_byte(link));
  constexpr double limit = 4e18;
  if (longest > limit) simulation::fail_too_long();
  return static_cast<Picoseconds>(longest);
}

}  // namespace hemiola
