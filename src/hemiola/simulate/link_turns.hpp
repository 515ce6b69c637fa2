// SPDX-License-Identifier: Apache-2.0
// About the time of a schedule in which nothing waits for a landing, such as an exchange without relays:
// links serve one step after the other, even while others wait.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/schedule/routes.hpp"
#include "hemiola/simulate/setting.hpp"

namespace hemiola::simulation {

/// All ranks are there from the beginning. A flow begins when the ports at its ends are through with the
/// steps before. A link then needs the time of all flows of the step, behind its earlier load; a flow is over
/// when all links on its way are through with the step, and lands a latency later.
class LinkTurns {
 public:
  LinkTurns(const Setting& setting, const Routes& routes);

  /// A transfer of the step that is under way.
  void add(std::uint32_t pair, double bytes);
  void end_step();
  /// When the last transfer of all steps so far lands.
  double end() const { return end_; }

 private:
  struct Link {
    double busy = 0;      ///< with steps before
    double load = 0;      ///< of this step
    double begin = 0;     ///< of the first of its flows
    double leaving = 0;   ///< until flows of steps before that begin here are over
    double arriving = 0;  ///< the same of those that end here
  };
  Link& at(int link) { return links_[static_cast<std::size_t>(link)]; }
  double latency(std::span<const int> path) const;

  const Setting& setting_;
  const Routes& routes_;
  std::vector<Link> links_;
  std::vector<int> used_;             ///< links of this step
  std::vector<std::uint32_t> flows_;  ///< their pairs, of this step
  double end_ = 0;
};

}  // namespace hemiola::simulation
