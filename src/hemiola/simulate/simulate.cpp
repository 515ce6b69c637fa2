// SPDX-License-Identifier: Apache-2.0
#include "hemiola/simulate/simulate.hpp"

#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/simulate/fifo.hpp"
#include "hemiola/simulate/fluid.hpp"
#include "hemiola/simulate/scenario.hpp"

namespace hemiola {

LinkSharing link_sharing_from_name(std::string_view name) {
  if (name == "fifo") return LinkSharing::fifo;
  if (name == "fluid") return LinkSharing::fluid;
  throw ArgumentError("expected a network model (fluid, fifo), found '" + std::string(name.substr(0, 60)) +
                      "'");
}

Timeline simulate(const Schedule& schedule, const Topology& topology, std::int64_t bytes,
                  const Conditions& conditions, const SimulateOptions& options) {
  if (!(options.noise >= 0 && options.noise <= 0.3))
    throw ArgumentError("simulate: expected noise in 0 … 0.3, found " + std::to_string(options.noise));
  const simulation::Scenario scenario(schedule, topology, bytes, conditions,
                                      simulation::Noise(options.noise, options.seed));
  Timeline timeline = options.network == LinkSharing::fifo ? simulation::simulate_fifo(scenario, options)
                                                           : simulation::simulate_fluid(scenario, options);
  if (!scenario.ways().are_joined()) return timeline;
  timeline.link_busy = scenario.ways().busy_apart(timeline.link_busy);
  for (Span& span : timeline.spans) span.link = scenario.ways().link_of(span.link);
  return timeline;
}

}  // namespace hemiola
