// SPDX-License-Identifier: Apache-2.0
#include "hemiola/trees/turns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/base/heedful.hpp"
#include "hemiola/base/longest.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/trees/calendar.hpp"
#include "hemiola/trees/planned_trees.hpp"

namespace hemiola::trees {
namespace {

constexpr std::int64_t kPerEvent = 16;  ///< small operations, as `heed_interrupt` counts them
constexpr std::uint32_t kNone = PlannedTrees::kNone;
constexpr std::size_t kReportEvery = 4096;
/// How much the way that is left counts beside the order of the chunks, over what a link needs for it: 3/2. Measured on
/// meshes of 2 to 3 dimensions, latencies of 0 to 10 chunks: 1 and 4 take up to 5 % longer, 2 about as long.
constexpr Picoseconds kWayCounts = 3, kOrderCounts = 2;
/// Where chunks have an order, so many waiting sends of a port are asked whether their way is free; more would overtake
/// those whose turn it is, and be asked again and again.
constexpr std::size_t kMostAsked = 6;

/// A chunk that is there, or a link that is free.
struct Event {
  Picoseconds time;
  std::uint32_t what;   ///< an edge, or a link
  std::uint32_t chunk;  ///< kNone: a link
};

/// The least goes first.
struct Waiting {
  Picoseconds urgency;
  std::uint32_t tie;
  std::uint32_t edge;
  std::uint32_t chunk;
  friend auto operator<=>(const Waiting&, const Waiting&) = default;
};

Calendar<Event> calendar_for(const Network& network, const Trees& trees) {
  double most = 0;
  for (const Tree& tree : trees.trees) most = std::max(most, tree.size);
  Picoseconds busy = 0, longest = 0;
  for (std::uint32_t c = 0; c < network.channels.size(); ++c) {
    Picoseconds way = 0;
    for (const Hop& hop : network.hops_of(c)) {
      const Hop largest = sized(hop, most);
      busy = std::max(busy, within_longest(largest.busy));
      way = within_longest(way + within_longest(largest.delay));
    }
    longest = std::max(longest, way + busy);
  }
  return {busy, longest};
}

class Turns {
 public:
  Turns(const Network& network, const Trees& trees, const TurnOptions& options)
      : network_(network),
        trees_(trees),
        options_(options),
        planned_(network, trees),
        has_switches_(network.has_switches()),
        events_(calendar_for(network, trees)),
        waiting_(network.link_count),
        free_(network.link_count, 0),
        next_step_(network.link_count, 0),
        held_up_(has_switches_ ? network.link_count : 0) {
    place_chunks();
    if (options.rule == TurnRule::due)
      find_due();
    else
      draw_ties();
    weigh_turns();
  }

  Turned operator()() {
    begin();
    std::size_t reported = 0;
    while (turned_.complete) {
      serve_called();
      if (events_.empty()) break;
      now_ = within_longest(events_.first_time());
      do {
        const Event event = events_.take();
        heed_interrupt(kPerEvent);
        if (event.chunk == kNone)
          free_link(event.what);
        else
          arrive(event.what, event.chunk);
      } while (events_.has_another(now_));
      if (turned_.sends.size() - reported >= kReportEvery) report(&reported);
    }
    if (turned_.complete)
      HEMIOLA_CHECK(turned_.sends.size() == send_count_, "every planned send must come to its turn");
    report(&reported);
    return std::move(turned_);
  }

 private:
  /// Of arrivals of one chunk.
  struct State {
    std::uint32_t missing;
    std::int32_t step;  ///< the earliest for the channels that they enable
  };

  const Hop& first_hop(std::uint32_t edge) const { return network_.hops_of(planned_.edge(edge).channel)[0]; }
  const Tree& tree_of(std::uint32_t chunk) const { return trees_.trees[trees_.tree_of[chunk]]; }
  State& state(std::uint32_t arrivals, std::uint32_t chunk) { return states_[state_base_[chunk] + arrivals]; }

  void place_chunks() {
    std::vector<std::int32_t> placed(trees_.trees.size(), 0);
    std::size_t states = 0;
    for (const std::uint32_t tree : trees_.tree_of) {
      place_.push_back(placed[tree]++);
      tie_base_.push_back(send_count_ - planned_.first_edge(tree));
      state_base_.push_back(states - planned_.first_arrivals(tree));
      send_count_ += planned_.first_edge(tree + 1) - planned_.first_edge(tree);
      states += planned_.first_arrivals(tree + 1) - planned_.first_arrivals(tree);
      has_order_ |= options_.rule != TurnRule::way && place_.back() > 0;
    }
    has_order_ |= options_.rule == TurnRule::due || options_.rule == TurnRule::date;
    states_.reserve(states);
    for (std::uint32_t chunk = 0; chunk < trees_.tree_of.size(); ++chunk) {
      const std::uint32_t tree = trees_.tree_of[chunk];
      const std::uint32_t end = planned_.first_arrivals(tree + 1);
      for (std::uint32_t a = planned_.first_arrivals(tree); a < end; ++a)
        states_.push_back({planned_.arrivals(a).count, 0});
      heed_interrupt(end - planned_.first_arrivals(tree));
    }
    turned_.sends.reserve(send_count_);
  }

  /// A chunk is due after the chunks before it have taken their share of the busiest link's time.
  void find_due() {
    std::vector<double> busy(network_.link_count, 0), chunks(trees_.trees.size(), 0);
    double bytes = 0, before = 0;
    for (const std::uint32_t tree : trees_.tree_of) {
      ++chunks[tree];
      bytes += trees_.trees[tree].size;
    }
    for (std::size_t t = 0; t < chunks.size(); ++t)
      for (const std::uint32_t channel : trees_.trees[t].channels)
        for (const Hop& hop : network_.hops_of(channel))
          busy[hop.link] += chunks[t] * static_cast<double>(sized(hop, trees_.trees[t].size).busy);
    const double busiest = busy.empty() ? 0 : *std::max_element(busy.begin(), busy.end());
    for (const std::uint32_t tree : trees_.tree_of) {
      due_.push_back(at_most_longest(bytes > 0 ? std::round(busiest * before / bytes) : 0));
      before += trees_.trees[tree].size;
    }
  }

  /// Turns count more than ways, which are rounded where both would not fit into 63 bits.
  void weigh_turns() {
    Picoseconds longest = 0, last = 0;
    for (std::uint32_t edge = 0; edge < planned_.edge_count(); ++edge)
      longest = std::max(longest, planned_.edge(edge).way);
    for (const std::int32_t place : place_) last = std::max<Picoseconds>(last, place);
    Picoseconds latest = 0;
    for (const Tree& tree : trees_.trees)
      for (const std::int32_t date : tree.dates) latest = std::max<Picoseconds>(latest, date);
    while ((longest >> way_shift_) + 1 > kLongest / (last + latest + 1)) ++way_shift_;
    turn_counts_ = (longest >> way_shift_) + 1;
  }

  void draw_ties() {
    Random random(options_.seed);
    ties_.reserve(send_count_);
    for (std::size_t i = 0; i < send_count_; ++i) ties_.push_back(~static_cast<std::uint32_t>(random.next()));
  }

  void begin() {
    for (std::uint32_t chunk = 0; chunk < trees_.tree_of.size(); ++chunk) {
      const std::uint32_t tree = trees_.tree_of[chunk], end = planned_.first_edge(tree + 1);
      for (std::uint32_t edge = planned_.first_edge(tree); edge < end; ++edge)
        if (planned_.edge(edge).from == kNone) wait(edge, chunk);
      heed_interrupt(end - planned_.first_edge(tree));
    }
  }

  void wait(std::uint32_t edge, std::uint32_t chunk) {
    const std::uint32_t port = first_hop(edge).link;
    std::vector<Waiting>& heap = waiting_[port];
    heap.push_back(waiting(edge, chunk));
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
    to_serve_.push_back(port);
  }

  Waiting waiting(std::uint32_t edge, std::uint32_t chunk) const {
    const Picoseconds way = planned_.edge(edge).way;
    if (options_.rule == TurnRule::due)
      return {kOrderCounts * due_[chunk] - kWayCounts * way, chunk, edge, chunk};
    Picoseconds turn = options_.rule == TurnRule::way ? 0 : place_[chunk];
    if (options_.rule == TurnRule::date)
      turn += tree_of(chunk).dates[edge - planned_.first_edge(trees_.tree_of[chunk])];
    return {turn * turn_counts_ - (way >> way_shift_), ties_[tie_base_[chunk] + edge], edge, chunk};
  }

  void free_link(std::uint32_t link) {
    to_serve_.push_back(link);
    if (!has_switches_) return;
    std::vector<std::uint32_t>& held_up = held_up_[link];
    to_serve_.insert(to_serve_.end(), held_up.begin(), held_up.end());
    held_up.clear();
  }

  void arrive(std::uint32_t edge, std::uint32_t chunk) {
    for (const std::uint32_t into : into_of(edge, chunk))
      if (into != kNone) come(into, chunk);
  }
  /// The arrivals that an edge is one of.
  std::array<std::uint32_t, 2> into_of(std::uint32_t edge, std::uint32_t chunk) const {
    return {planned_.edge(edge).into, adds(edge, chunk) ? planned_.also(trees_.tree_of[chunk]) : kNone};
  }
  bool adds(std::uint32_t edge, std::uint32_t chunk) const {
    return edge - planned_.first_edge(trees_.tree_of[chunk]) < tree_of(chunk).adding;
  }
  void come(std::uint32_t number, std::uint32_t chunk) {
    if (--state(number, chunk).missing > 0) return;
    const PlannedTrees::Arrivals& arrivals = planned_.arrivals(number);
    for (std::uint32_t next = arrivals.first_next; next != kNone; next = planned_.edge(next).next_sibling)
      wait(next, chunk);
    if (arrivals.then == kNone) return;
    State& then = state(arrivals.then, chunk);
    then.step = std::max(then.step, state(number, chunk).step);
    come(arrivals.then, chunk);
  }

  /// The ports that may have something to send. Ports share links behind switches: there the one that has the chunk whose
  /// turn it is goes first.
  void serve_called() {
    if (has_switches_) {
      std::erase_if(to_serve_,
                    [this](std::uint32_t port) { return waiting_[port].empty() || free_[port] > now_; });
      std::sort(to_serve_.begin(), to_serve_.end());
      to_serve_.erase(std::unique(to_serve_.begin(), to_serve_.end()), to_serve_.end());
      if (has_order_)
        std::stable_sort(to_serve_.begin(), to_serve_.end(), [&](std::uint32_t a, std::uint32_t b) {
          return waiting_[a].front() < waiting_[b].front();
        });
    }
    for (const std::uint32_t port : to_serve_) serve(port);
    to_serve_.clear();
  }

  /// Starts the first of the waiting sends whose whole way is free.
  void serve(std::uint32_t port) {
    std::vector<Waiting>& heap = waiting_[port];
    const std::size_t most = has_order_ ? kMostAsked : heap.size();
    while (!heap.empty() && free_[port] <= now_ && blocked_.size() < most) {
      std::pop_heap(heap.begin(), heap.end(), std::greater<>());
      const Waiting first = heap.back();
      heap.pop_back();
      std::uint32_t blocked_by = kNone;
      if (is_open(first, &blocked_by)) {
        start(first);
        continue;
      }
      held_up_[blocked_by].push_back(port);
      blocked_.push_back(first);
    }
    for (const Waiting& waiting : blocked_) {
      heap.push_back(waiting);
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
    }
    blocked_.clear();
  }

  bool is_open(const Waiting& waiting, std::uint32_t* blocked_by) const {
    if (!has_switches_) return true;
    Picoseconds at = now_;
    for (const Hop& hop : network_.hops_of(planned_.edge(waiting.edge).channel)) {
      if (free_[hop.link] > at) {
        *blocked_by = hop.link;
        return false;
      }
      at += sized(hop, tree_of(waiting.chunk).size).delay;
    }
    return true;
  }

  void start(const Waiting& waiting) {
    const PlannedTrees::Edge& edge = planned_.edge(waiting.edge);
    std::int32_t step = edge.from == kNone ? 0 : state(edge.from, waiting.chunk).step;
    const Picoseconds there = has_switches_
                                  ? cross_switches(waiting, &step)
                                  : cross(sized(first_hop(waiting.edge), tree_of(waiting.chunk).size), &step);
    turned_.end = std::max(turned_.end, there);
    bool is_awaited = false;
    for (const std::uint32_t into : into_of(waiting.edge, waiting.chunk)) {
      if (into == kNone) continue;
      is_awaited = true;
      state(into, waiting.chunk).step = std::max(state(into, waiting.chunk).step, step + 1);
    }
    if (is_awaited) events_.add({there, waiting.edge, waiting.chunk});
    turned_.sends.push_back({step, edge.channel, waiting.chunk, adds(waiting.edge, waiting.chunk)});
  }

  /// Returns when the chunk is at the far end; `step`, from the least one on, becomes that of the send.
  Picoseconds cross(const Hop& hop, std::int32_t* step) {
    free_[hop.link] = now_ + hop.busy;
    events_.add({free_[hop.link], hop.link, kNone});
    *step = std::max(*step, next_step_[hop.link]);
    next_step_[hop.link] = *step + 1;
    return now_ + hop.delay;
  }

  Picoseconds cross_switches(const Waiting& waiting, std::int32_t* step) {
    const std::span<const Hop> way = network_.hops_of(planned_.edge(waiting.edge).channel);
    Picoseconds at = now_;
    for (const Hop& link : way) {
      const Hop hop = sized(link, tree_of(waiting.chunk).size);
      free_[hop.link] = at + hop.busy;
      *step = std::max(*step, next_step_[hop.link]);
      // A chunk that starts when the link is free by the time it gets there finds it free.
      events_.add({std::max(now_, free_[hop.link] - (at - now_)), hop.link, kNone});
      if (at > now_) events_.add({free_[hop.link], hop.link, kNone});
      at += hop.delay;
    }
    for (const Hop& hop : way) next_step_[hop.link] = *step + 1;
    return at;
  }

  void report(std::size_t* reported) {
    const auto sends = static_cast<std::int64_t>(turned_.sends.size() - *reported);
    *reported = turned_.sends.size();
    if (options_.advance && !options_.advance(sends)) turned_.complete = false;
  }

  const Network& network_;
  const Trees& trees_;
  const TurnOptions& options_;
  const PlannedTrees planned_;
  const bool has_switches_;
  bool has_order_ = false;
  std::vector<std::int32_t> place_;  ///< by chunk, among those of its tree
  /// By chunk, the number that, added to an edge of its tree or to arrivals there, gives their place in these:
  std::vector<std::size_t> tie_base_, state_base_;
  std::vector<Picoseconds> due_;  ///< by chunk
  Picoseconds turn_counts_ = 1;   ///< a turn, in ways
  int way_shift_ = 0;
  LargeVector<std::uint32_t> ties_;  ///< by chunk and edge of its tree
  LargeVector<State> states_;        ///< by chunk and arrivals of its tree
  std::size_t send_count_ = 0;
  Picoseconds now_ = 0;
  Calendar<Event> events_;
  std::vector<std::vector<Waiting>> waiting_;  ///< by link out of a rank, a heap
  std::vector<Waiting> blocked_;
  std::vector<Picoseconds> free_;                    ///< by link
  std::vector<std::int32_t> next_step_;              ///< by link
  std::vector<std::vector<std::uint32_t>> held_up_;  ///< by link of a switch, the ports that wait for it
  std::vector<std::uint32_t> to_serve_;
  Turned turned_;
};

}  // namespace

Turned take_turns(const Network& network, const Trees& trees, const TurnOptions& options) {
  return Turns(network, trees, options)();
}

}  // namespace hemiola::trees
