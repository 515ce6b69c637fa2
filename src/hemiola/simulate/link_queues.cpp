#include "hemiola/simulate/link_queues.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "hemiola/base/interrupt.hpp"

namespace hemiola::simulation {
namespace {

/// Of a link's capacity: what sums of rates may be wrong by, which is no inflow beyond it.
constexpr double kSameRate = 1e-12;

}  // namespace

LinkQueues::LinkQueues(const Scenario& scenario) : scenario_(scenario) {
  queues_.resize(static_cast<std::size_t>(scenario.topology().link_count()));
  find_latencies();
  if (std::none_of(queues_.begin(), queues_.end(), [](const Queue& q) { return q.can_queue(); })) {
    queues_.clear();
    return;
  }
  wait_.resize(scenario.transfer_count());
  make_inlets();
}

void LinkQueues::find_latencies() {
  for (std::uint32_t pair = 0; pair < scenario_.pair_count(); ++pair) {
    Picoseconds before = 0;
    heed_interrupt(static_cast<std::int64_t>(scenario_.path_of_pair(pair).size()));
    for (int l : scenario_.path_of_pair(pair)) {
      const bool is_first = queue(l).most_before < 0;
      queue(l).least_before = is_first ? before : std::min(queue(l).least_before, before);
      queue(l).most_before = std::max(queue(l).most_before, before);
      queue(l).capacity = 1 / scenario_.ps_per_byte(l);
      before += scenario_.latency(l);
    }
  }
}

/// Links count from the time of those that reach them first.
void LinkQueues::make_inlets() {
  using Known = std::pair<Picoseconds, InletId>;
  std::vector<std::vector<Known>> known(queues_.size());  // per link, in order
  for (std::uint32_t pair = 0; pair < scenario_.pair_count(); ++pair) {
    Picoseconds before = 0;
    heed_interrupt(static_cast<std::int64_t>(scenario_.path_of_pair(pair).size()));
    first_inlet_.push_back(inlets_of_pairs_.size());
    for (int l : scenario_.path_of_pair(pair)) {
      const Picoseconds later = before - queue(l).least_before;
      before += scenario_.latency(l);
      if (!queue(l).can_queue()) continue;
      std::vector<Known>& here = known[static_cast<std::size_t>(l)];
      auto place = std::ranges::lower_bound(here, later, {}, &Known::first);
      if (place == here.end() || place->first != later) {
        place = here.insert(place, {later, static_cast<InletId>(inlets_.size())});
        Inlet& inlet = inlets_.emplace_back();
        inlet.link = l;
        inlet.later = later;
      }
      inlets_of_pairs_.push_back(place->second);
    }
  }
  first_inlet_.push_back(inlets_of_pairs_.size());
  make_delays();
}

void LinkQueues::make_delays() {
  std::vector<Picoseconds> sorted;
  for (const Inlet& inlet : inlets_) sorted.push_back(inlet.later);
  std::ranges::sort(sorted);
  sorted.erase(std::ranges::unique(sorted).begin(), sorted.end());
  for (const Picoseconds later : sorted) delays_.push_back({later, kNone});
  for (Inlet& inlet : inlets_)
    inlet.delay = static_cast<std::uint32_t>(std::ranges::lower_bound(sorted, inlet.later) - sorted.begin());
}

void LinkQueues::join_wave(const Inlet& inlet) {
  if (free_change_ == kNone) {
    free_change_ = static_cast<std::uint32_t>(changes_.size());
    changes_.push_back({0, 0, 0, kNoTransfer, kNone});
  }
  const std::uint32_t number = free_change_;
  free_change_ = changes_[number].next;
  Delay& delay = delays_[inlet.delay];
  if (delay.wave == kNone) setting_off_.push_back(inlet.delay);
  changes_[number] = {inlet.rate, inlet.flows, inlet.link, inlet.ending, delay.wave};
  delay.wave = number;
}

void LinkQueues::arrive(std::uint32_t wave, Picoseconds now) {
  std::uint32_t last = wave;
  for (std::uint32_t number = wave; number != kNone; number = changes_[number].next) {
    change(changes_[number], now);
    last = number;
  }
  changes_[last].next = free_change_;
  free_change_ = wave;
}

void LinkQueues::bring_to(Queue* queue, Picoseconds now) {
  const double surplus = queue->inflow - queue->capacity;
  if (std::abs(surplus) > kSameRate * queue->capacity)
    queue->waiting = std::max(0.0, queue->waiting + surplus * static_cast<double>(now - queue->since));
  queue->since = now;
}

void LinkQueues::change(const Change& change, Picoseconds now) {
  Queue& changed = queue(change.link);
  bring_to(&changed, now);
  changed.flows += change.flows;
  changed.inflow = changed.flows == 0 ? 0 : changed.inflow + change.rate;
  if (change.ending != kNoTransfer) note_wait(change.ending, changed);
}

void LinkQueues::note_wait(TransferId t, const Queue& passed) {
  wait_[t] = std::max<Picoseconds>(wait_[t], std::llround(passed.waiting / passed.capacity));
}

void LinkQueues::end(TransferId t, int link, Picoseconds now) {
  Queue& passed = queue(link);
  bring_to(&passed, now);
  note_wait(t, passed);
}

std::uint32_t LinkQueues::keep_end(TransferId t, int link) {
  if (free_ends_.empty()) {
    ends_.push_back({t, link});
    return static_cast<std::uint32_t>(ends_.size() - 1);
  }
  const std::uint32_t number = free_ends_.back();
  free_ends_.pop_back();
  ends_[number] = {t, link};
  return number;
}

void LinkQueues::end_kept(std::uint32_t number, Picoseconds now) {
  end(ends_[number].transfer, ends_[number].link, now);
  free_ends_.push_back(number);
}

}  // namespace hemiola::simulation
