// SPDX-License-Identifier: Apache-2.0
#include "hemiola/simulate/link_turns.hpp"

#include <algorithm>

namespace hemiola::simulation {

LinkTurns::LinkTurns(const Setting& setting, const Routes& routes)
    : setting_(setting), routes_(routes), links_(static_cast<std::size_t>(setting.topology().link_count())) {}

void LinkTurns::add(std::uint32_t pair, double bytes) {
  const auto path = routes_.path(pair);
  if (path.empty()) return;
  const double begin = std::max(at(path.front()).leaving, at(path.back()).arriving);
  for (const int l : path) {
    Link& link = at(l);
    if (link.load == 0) used_.push_back(l);
    link.begin = link.load == 0 ? begin : std::min(link.begin, begin);
    link.load += bytes * setting_.ps_per_byte(l) + static_cast<double>(setting_.message(l));
  }
  flows_.push_back(pair);
}

void LinkTurns::end_step() {
  for (const int l : used_) {
    Link& link = at(l);
    link.busy = std::max(link.busy, link.begin) + link.load;
    link.load = 0;
  }
  for (const std::uint32_t pair : flows_) {
    const auto path = routes_.path(pair);
    double over = 0;
    for (const int l : path) over = std::max(over, at(l).busy);
    at(path.front()).leaving = std::max(at(path.front()).leaving, over);
    at(path.back()).arriving = std::max(at(path.back()).arriving, over);
    end_ = std::max(end_, over + latency(path));
  }
  used_.clear();
  flows_.clear();
}

double LinkTurns::latency(std::span<const int> path) const {
  double sum = 0;
  for (const int l : path) sum += static_cast<double>(setting_.latency(l));
  return sum;
}

}  // namespace hemiola::simulation
