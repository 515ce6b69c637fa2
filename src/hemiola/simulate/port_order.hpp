// The order in which a port is used: the transfers of one step share it, those of the next step follow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/schedule/schedule.hpp"
#include "hemiola/simulate/dataflow.hpp"

namespace hemiola::simulation {

/// For each port (numbered by the link it is) its transfers in groups, one group per step.
class PortOrder {
 public:
  /// `port_of_pair[p]` is the port that transfers of the schedule's pair p use.
  PortOrder(const Schedule& schedule, std::span<const int> port_of_pair, int port_count);

  std::size_t port_count() const { return next_.size(); }
  bool is_used(int port) const { return offset_[index(port)] != offset_[index(port) + 1]; }

  /// The transfers of the step whose turn comes next; empty after the last.
  std::span<const TransferId> next_step(int port) const {
    const std::uint32_t begin = next_[index(port)], limit = offset_[index(port) + 1];
    std::uint32_t end = begin;
    if (end < limit) ++end;
    while (end < limit && !starts_step_[end]) ++end;
    return {transfers_.data() + begin, end - begin};
  }
  std::span<const TransferId> open_next_step(int port) {
    const auto group = next_step(port);
    next_[index(port)] += static_cast<std::uint32_t>(group.size());
    return group;
  }
  /// Whether the next step sends at most one message through this port.
  bool is_next_step_single(int port) const {
    const std::uint32_t at = next_[index(port)] + 1;
    return at >= offset_[index(port) + 1] || starts_step_[at];
  }

 private:
  static std::size_t index(int port) { return static_cast<std::size_t>(port); }

  std::vector<std::uint32_t> offset_, next_;
  std::vector<TransferId> transfers_;
  std::vector<std::uint8_t> starts_step_;
};

}  // namespace hemiola::simulation
