#include "hemiola/simulate/port_order.hpp"

namespace hemiola::simulation {

PortOrder::PortOrder(const Schedule& schedule, std::span<const int> port_of_pair, int port_count)
    : offset_(index(port_count) + 1),
      transfers_(static_cast<std::size_t>(schedule.transfer_count())),
      starts_step_(transfers_.size()) {
  const auto link = schedule.link();
  for (std::uint32_t pair : link) ++offset_[index(port_of_pair[pair]) + 1];
  for (std::size_t p = 1; p < offset_.size(); ++p) offset_[p] += offset_[p - 1];
  next_.assign(offset_.begin(), offset_.end() - 1);
  std::vector<std::int32_t> last_step(index(port_count), -1);
  const auto steps = schedule.step_offset();
  for (std::size_t s = 0; s + 1 < steps.size(); ++s)
    for (auto t = static_cast<TransferId>(steps[s]); t < static_cast<TransferId>(steps[s + 1]); ++t) {
      const std::size_t port = index(port_of_pair[link[t]]);
      const std::uint32_t at = next_[port]++;
      transfers_[at] = t;
      starts_step_[at] = last_step[port] != static_cast<std::int32_t>(s);
      last_step[port] = static_cast<std::int32_t>(s);
    }
  next_.assign(offset_.begin(), offset_.end() - 1);
}

}  // namespace hemiola::simulation
