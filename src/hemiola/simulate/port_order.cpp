#include "hemiola/simulate/port_order.hpp"

namespace hemiola::simulation {

PortOrder::PortOrder(const Scenario& scenario, Direction direction)
    : next_(static_cast<std::size_t>(scenario.transfer_count())),
      next_of_port_(index(scenario.topology().link_count()), kNone) {
  struct Last {
    TransferId transfer = kNone;
    TransferId step_begin = 0;  ///< the first transfer of that transfer's step
  };
  std::vector<Last> last(next_of_port_.size());
  const auto steps = scenario.schedule().step_offset();
  for (std::size_t s = 0; s + 1 < steps.size(); ++s) {
    const auto begin = static_cast<TransferId>(steps[s]), end = static_cast<TransferId>(steps[s + 1]);
    for (TransferId t = begin; t < end; ++t) {
      if (!scenario.is_sent(t) || scenario.is_within_rank(t)) continue;
      const std::size_t port =
          index(direction == Direction::out ? scenario.first_link(t) : scenario.last_link(t));
      Last& before = last[port];
      if (before.transfer == kNone)
        next_of_port_[port] = t;
      else
        next_[before.transfer] = {t, before.step_begin != begin};
      before = {t, begin};
    }
  }
}

}  // namespace hemiola::simulation
