#include "hemiola/synthesis/delivery/tree_scheduler.hpp"

#include <algorithm>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/interrupt.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/synthesis/network/longest.hpp"

namespace hemiola::synthesis {
namespace {

constexpr std::uint32_t kNone = ~0u;
constexpr std::int64_t kReportEvery = 4096;
/// With turns, so many waiting sends of a port are asked whether their way is free; more would overtake those whose turn
/// it is, and be asked again and again.
constexpr std::size_t kMostAsked = 6;

}  // namespace

TreeScheduler::TreeScheduler(const Channels& channels, const Trees& trees, TreeOrder order)
    : channels_(channels),
      waiting_(channels.link_count()),
      free_(channels.link_count(), 0),
      held_up_(channels.link_count()),
      takes_turns_(order.chunks_per_turn < trees.size()) {
  plan(trees, order);
}

void TreeScheduler::plan(const Trees& trees, TreeOrder order) {
  Random random(order.seed);
  std::size_t total = 0;
  for (const auto& tree : trees) total += tree.size();
  planned_.reserve(total);
  std::vector<ArrivalsId> arrivals_at(static_cast<std::size_t>(channels_.rank_count()), kNone);
  for (std::uint32_t chunk = 0; chunk < trees.size(); ++chunk) {
    const auto first = static_cast<SendId>(planned_.size());
    for (const std::uint32_t channel : trees[chunk]) {
      add(channel, chunk, &arrivals_at);
      planned_.back().turn = chunk / order.chunks_per_turn;
      planned_.back().tie = static_cast<std::uint32_t>(random.next());
    }
    for (SendId id = static_cast<SendId>(planned_.size()); id-- > first;) {
      Picoseconds beyond = 0;
      for (SendId next = arrivals_[planned_[id].arrivals].first_next; next != kNone;
           next = planned_[next].next_sibling)
        beyond = std::max(beyond, planned_[next].to_go);
      planned_[id].to_go = std::min(kLongest, channels_.delay(planned_[id].channel) + beyond);
    }
    for (const std::uint32_t channel : trees[chunk])
      arrivals_at[static_cast<std::size_t>(channels_[channel].dst)] = kNone;
  }
}

/// A send waits for what came to its source by then; what comes later belongs to the next arrivals there.
void TreeScheduler::add(std::uint32_t channel, std::uint32_t chunk, std::vector<ArrivalsId>* arrivals_at) {
  const auto id = static_cast<SendId>(planned_.size());
  const ArrivalsId before = (*arrivals_at)[static_cast<std::size_t>(channels_[channel].src)];
  ArrivalsId& into = (*arrivals_at)[static_cast<std::size_t>(channels_[channel].dst)];
  if (into == kNone || arrivals_[into].first_next != kNone) {
    into = static_cast<ArrivalsId>(arrivals_.size());
    arrivals_.push_back({kNone, 0});
  }
  ++arrivals_[into].missing;
  planned_.push_back({channel, chunk, into, kNone, 0, 0, 0});
  if (before == kNone)
    at_once_.push_back(id);
  else
    planned_[id].next_sibling = std::exchange(arrivals_[before].first_next, id);
}

bool TreeScheduler::run(SearchState* state, Sends* sends) {
  sends_ = sends;
  std::size_t reported = sends->size();
  for (const SendId send : at_once_) enable(send);
  while (true) {
    serve_called();
    if (events_.empty()) break;
    now_ = within_longest(events_.top().time);
    while (!events_.empty() && events_.top().time == now_) {
      const Event event = events_.top();
      events_.pop();
      if (event.kind == Event::link_free) {
        to_serve_.push_back(event.what);
        std::vector<std::uint32_t>& held_up = held_up_[event.what];
        to_serve_.insert(to_serve_.end(), held_up.begin(), held_up.end());
        held_up.clear();
      } else {
        arrive(event.what);
      }
    }
    if (sends->size() - reported >= kReportEvery) {
      heed_interrupt(kReportEvery);
      if (!state->advance(static_cast<std::int64_t>(sends->size() - reported))) return false;
      reported = sends->size();
    }
  }
  HEMIOLA_CHECK(sends->size() == planned_.size(), "every planned send must come to its turn");
  return state->advance(static_cast<std::int64_t>(sends->size() - reported));
}

/// The ports that may have something to send, each once.
void TreeScheduler::serve_called() {
  std::erase_if(to_serve_,
                [this](std::uint32_t port) { return waiting_[port].empty() || free_[port] > now_; });
  std::sort(to_serve_.begin(), to_serve_.end());
  to_serve_.erase(std::unique(to_serve_.begin(), to_serve_.end()), to_serve_.end());
  if (takes_turns_ && to_serve_.size() > 1) sort_by_turn(&to_serve_);
  for (const std::uint32_t port : to_serve_) serve(port);
  to_serve_.clear();
}

/// Ports share links behind switches: the one that has the chunk whose turn it is goes first.
void TreeScheduler::sort_by_turn(std::vector<std::uint32_t>* ports) const {
  std::stable_sort(ports->begin(), ports->end(), [&](std::uint32_t a, std::uint32_t b) {
    return waiting_[b].front() < waiting_[a].front();
  });
}

void TreeScheduler::arrive(SendId send) {
  Arrivals& arrivals = arrivals_[planned_[send].arrivals];
  if (--arrivals.missing > 0) return;
  for (SendId next = arrivals.first_next; next != kNone; next = planned_[next].next_sibling) enable(next);
}

void TreeScheduler::enable(SendId send) {
  const Planned& planned = planned_[send];
  const std::uint32_t port = channels_.hops(planned.channel)[0].link;
  std::vector<Waiting>& heap = waiting_[port];
  heap.push_back({planned.to_go, planned.turn, planned.tie, planned.channel, send});
  std::push_heap(heap.begin(), heap.end());
  to_serve_.push_back(port);
}

/// Starts the first of the waiting sends whose whole way is free.
void TreeScheduler::serve(std::uint32_t port) {
  std::vector<Waiting>& heap = waiting_[port];
  blocked_.clear();
  const std::size_t most = takes_turns_ ? kMostAsked : heap.size();
  while (!heap.empty() && free_[port] <= now_ && blocked_.size() < most) {
    const Waiting first = heap.front();
    std::pop_heap(heap.begin(), heap.end());
    heap.pop_back();
    std::uint32_t blocked_by = kNone;
    if (is_open(first.channel, &blocked_by)) {
      start(first.send);
      continue;
    }
    held_up_[blocked_by].push_back(port);
    blocked_.push_back(first);
  }
  for (const Waiting& waiting : blocked_) {
    heap.push_back(waiting);
    std::push_heap(heap.begin(), heap.end());
  }
}

bool TreeScheduler::is_open(std::uint32_t channel, std::uint32_t* blocked_by) const {
  Picoseconds at = now_;
  for (const Hop& hop : channels_.hops(channel)) {
    if (free_[hop.link] > at) {
      *blocked_by = hop.link;
      return false;
    }
    at += hop.delay;
  }
  return true;
}

void TreeScheduler::start(SendId send) {
  const Planned& planned = planned_[send];
  sends_->push_back({0, planned.channel, planned.chunk});
  Picoseconds at = now_;
  for (const Hop& hop : channels_.hops(planned.channel)) {
    free_[hop.link] = at + hop.busy;
    // A chunk that starts when the link is free by the time it gets there finds it free.
    events_.push({std::max(now_, free_[hop.link] - (at - now_)), Event::link_free, hop.link});
    if (at > now_) events_.push({free_[hop.link], Event::link_free, hop.link});
    at += hop.delay;
  }
  events_.push({at, Event::arrival, send});
}

}  // namespace hemiola::synthesis
