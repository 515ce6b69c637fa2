#include "hemiola/simulate/port_order.hpp"

namespace hemiola::simulation {

PortOrder::PortOrder(const Schedule& schedule, std::span<const int> port_of_pair, int port_count)
    : next_(static_cast<std::size_t>(schedule.transfer_count())), next_of_port_(index(port_count), kNone) {
  struct Last {
    TransferId transfer = kNone;
    TransferId step_begin = 0;  ///< the first transfer of that transfer's step
  };
  std::vector<Last> last(index(port_count));
  const auto pair = schedule.link();
  const auto steps = schedule.step_offset();
  for (std::size_t s = 0; s + 1 < steps.size(); ++s) {
    const auto begin = static_cast<TransferId>(steps[s]), end = static_cast<TransferId>(steps[s + 1]);
    for (TransferId t = begin; t < end; ++t) {
      const std::size_t port = index(port_of_pair[pair[t]]);
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
