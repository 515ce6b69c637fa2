// SPDX-License-Identifier: Apache-2.0
#include "hemiola/simulate/port_order.hpp"

#include "hemiola/base/heedful.hpp"

namespace hemiola::simulation {

PortOrder::PortOrder(const Scenario& scenario, Direction direction)
    : next_of_port_(index(scenario.topology().link_count()), kNone) {
  heedful_resize(&next_, scenario.transfer_count());
  struct Last {
    TransferId transfer = kNone;
    TransferId step_begin = 0;  ///< the first transfer of that transfer's step
  };
  std::vector<Last> last(next_of_port_.size());
  const auto steps = scenario.schedule().step_offset();
  for (std::size_t s = 0; s + 1 < steps.size(); ++s) {
    const auto step_begin = static_cast<TransferId>(steps[s]),
               step_end = static_cast<TransferId>(steps[s + 1]);
    for_heedful_blocks(step_begin, step_end, [&](TransferId begin, TransferId end) {
      for (TransferId t = begin; t < end; ++t) {
        if (!scenario.is_sent(t) || scenario.is_within_rank(t)) continue;
        const std::size_t port =
            index(direction == Direction::out ? scenario.first_link(t) : scenario.last_link(t));
        Last& before = last[port];
        if (before.transfer == kNone)
          next_of_port_[port] = t;
        else
          next_[before.transfer] = {t, before.step_begin != step_begin};
        before = {t, step_begin};
      }
    });
  }
}

}  // namespace hemiola::simulation
