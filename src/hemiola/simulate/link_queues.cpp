// SPDX-License-Identifier: Apache-2.0
#include "hemiola/simulate/link_queues.hpp"

#include <algorithm>
#include <cmath>

#include "hemiola/base/interrupt.hpp"

namespace hemiola::simulation {
namespace {

/// Of a link's capacity: the error that sums of rates may have, which is no inflow beyond it.
constexpr double kSameRate = 1e-12;

}  // namespace

LinkQueues::LinkQueues(const Scenario& scenario) : scenario_(scenario) {
  queues_.resize(static_cast<std::size_t>(scenario.topology().link_count()));
  for (std::uint32_t pair = 0; pair < scenario.pair_count(); ++pair) {
    Picoseconds before = 0;
    heed_interrupt(static_cast<std::int64_t>(scenario.path_of_pair(pair).size()));
    for (int l : scenario.path_of_pair(pair)) {
      Queue& queue = queues_[static_cast<std::size_t>(l)];
      const bool is_first = queue.most_before < 0;
      queue.least_before = is_first ? before : std::min(queue.least_before, before);
      queue.most_before = std::max(queue.most_before, before);
      queue.capacity = 1 / scenario.ps_per_byte(l);
      before += scenario.latency(l);
    }
  }
  if (std::none_of(queues_.begin(), queues_.end(), [](const Queue& q) { return q.can_queue(); }))
    queues_.clear();
  else
    wait_.resize(scenario.transfer_count());
}

void LinkQueues::change(const Change& change, Picoseconds now) {
  Queue& queue = queues_[static_cast<std::size_t>(change.link)];
  const double surplus = queue.inflow - queue.capacity;
  if (std::abs(surplus) > kSameRate * queue.capacity)
    queue.waiting = std::max(0.0, queue.waiting + surplus * static_cast<double>(now - queue.since));
  queue.since = now;
  queue.flows += change.flows;
  queue.inflow = queue.flows == 0 ? 0 : queue.inflow + change.rate;
  if (change.ending == kNoTransfer) return;
  Picoseconds& wait = wait_[change.ending];
  wait = std::max<Picoseconds>(wait, std::llround(queue.waiting / queue.capacity));
}

std::uint32_t LinkQueues::keep(const Change& change) {
  if (free_numbers_.empty()) {
    kept_.push_back(change);
    return static_cast<std::uint32_t>(kept_.size() - 1);
  }
  const std::uint32_t number = free_numbers_.back();
  free_numbers_.pop_back();
  kept_[number] = change;
  return number;
}

void LinkQueues::change_kept(std::uint32_t number, Picoseconds now) {
  change(kept_[number], now);
  free_numbers_.push_back(number);
}

}  // namespace hemiola::simulation
