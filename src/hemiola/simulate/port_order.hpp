// SPDX-License-Identifier: Apache-2.0
// The order in which a port is used: the transfers of one step share it, those of the next step follow.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/base/huge_pages.hpp"
#include "hemiola/simulate/scenario.hpp"

namespace hemiola::simulation {

/// For each port (numbered by the link it is) its transfers, strung together in the order of the schedule.
class PortOrder {
 public:
  enum class Direction { out, in };  ///< the first link of a path is its out-port, the last its in-port
  PortOrder(const Scenario& scenario, Direction direction);

  std::size_t port_count() const { return next_of_port_.size(); }
  /// Whether a step that uses the port has not been opened yet.
  bool has_next_step(int port) const { return next_of_port_[index(port)] != kNone; }
  /// Whether the next step sends at most one message through this port.
  bool is_next_step_single(int port) const {
    const TransferId first = next_of_port_[index(port)];
    return first == kNone || next_[first].starts_step;
  }

  /// Calls visit(transfer) for each transfer of the step whose turn comes next; returns how many there are.
  template <typename Visit>
  std::uint32_t open_next_step(int port, Visit visit) {
    std::uint32_t count = 0;
    TransferId& at = next_of_port_[index(port)];
    if (at == kNone) return 0;
    for (bool ends = false; !ends; ++count) {
      const TransferId t = at;
      at = next_[t].transfer;
      ends = next_[t].starts_step;
      visit(t);
    }
    return count;
  }

 private:
  static constexpr std::uint32_t kNone = (std::uint32_t{1} << 31) - 1;
  struct Successor {
    TransferId transfer : 31 = kNone;
    std::uint32_t starts_step : 1 = 1;
  };
  static std::size_t index(int port) { return static_cast<std::size_t>(port); }

  LargeVector<Successor> next_;  ///< per transfer, the next one on the same port
  std::vector<TransferId> next_of_port_;
};

}  // namespace hemiola::simulation
