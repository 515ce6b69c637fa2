#include "hemiola/simulate/fifo.hpp"

#include <algorithm>

#include "hemiola/simulate/event_queue.hpp"
#include "hemiola/simulate/progress_meter.hpp"

namespace hemiola::simulation {
namespace {

class FifoNetwork {
 public:
  FifoNetwork(const Scenario& scenario, const SimulateOptions& options)
      : scenario_(scenario),
        dataflow_(scenario.schedule()),
        out_ports_(scenario.out_ports()),
        transit_(scenario.transit_links()),
        links_(transit_.size()),
        waits_for_(scenario.transfer_count(), 2),
        meter_(scenario.transfer_count(), options.progress),
        keep_spans_(options.keep_spans) {
    for (TransferId t = 0; t < scenario.transfer_count(); ++t)
      if (dataflow_.can_read_at_once(t)) --waits_for_[t];
    for (Rank rank : indices<Rank>(scenario.topology().rank_count())) {
      timeline_.finish.push_back(scenario.arrival(rank));
      open_ports_on_arrival(rank);
    }
  }

  Timeline run() {
    while (!queue_.empty()) {
      const auto [now, event] = queue_.pop();
      if (event.hop == kOpenPort)
        open_port(static_cast<int>(event.subject));
      else if (event.hop == kLand)
        try_landing(event.subject, now);
      else
        ready_.push_back({event.subject, event.hop});
      if (!queue_.has_more_now()) serve_ready(now);
    }
    return finish_timeline();
  }

 private:
  static constexpr std::uint32_t kOpenPort = ~std::uint32_t{0};
  static constexpr std::uint32_t kLand = kOpenPort - 1;
  struct Event {
    std::uint32_t subject;  ///< a transfer, or the link that is the port to open
    std::uint32_t hop;  ///< how many links of its path the transfer has passed, kLand after all, or kOpenPort
  };
  struct LinkState {
    Picoseconds free_at = 0;
    Picoseconds busy = 0;
    Picoseconds turn_ends = 0;   ///< as a port: when the last message of the open step has left
    std::uint32_t to_leave = 0;  ///< as a port: messages of the open step whose start is not known
  };

  LinkState& state(int link) { return links_[static_cast<std::size_t>(link)]; }

  void open_ports_on_arrival(Rank rank) {
    const Topology& topology = scenario_.topology();
    for (const int* l = topology.out_begin(Vertex{rank}); l != topology.out_end(Vertex{rank}); ++l)
      if (out_ports_.is_used(*l)) push(scenario_.arrival(rank), static_cast<std::uint32_t>(*l), kOpenPort);
  }

  void push(Picoseconds time, std::uint32_t subject, std::uint32_t hop) {
    queue_.push(within_limit(time), {subject, hop});
  }

  /// Gives the port to the next step that uses it.
  void open_port(int port) {
    const auto step = out_ports_.open_next_step(port);
    state(port).to_leave = static_cast<std::uint32_t>(step.size());
    for (TransferId t : step) release(t);
  }

  /// One of the two things that t waits for is there: the slot it reads, or its port's turn.
  void release(TransferId t) {
    if (--waits_for_[t] == 0) ready_.push_back({t, 0});
  }

  /// Everything that can happen at `now` has; what became ready by it joins the queues of its links.
  void serve_ready(Picoseconds now) {
    const auto in_order_of_schedule = [](const Event& a, const Event& b) { return a.subject < b.subject; };
    while (!ready_.empty()) {
      serving_.swap(ready_);
      if (!std::is_sorted(serving_.begin(), serving_.end(), in_order_of_schedule))
        std::sort(serving_.begin(), serving_.end(), in_order_of_schedule);
      for (const auto [t, hop] : serving_)
        if (hop == 0)
          send_first_hop(t, now);
        else
          occupy(scenario_.path(t)[hop], t, hop, now);
      serving_.clear();
    }
  }

  void send_first_hop(TransferId t, Picoseconds now) {
    const int port = scenario_.path(t)[0];
    const Picoseconds end = occupy(port, t, 0, now);
    note_finish(scenario_.src(t), end);
    if (const TransferId waiting = dataflow_.leave(t, end); waiting != kNoTransfer) [[unlikely]]
      push(now, waiting, kLand);
    LinkState& s = state(port);
    s.turn_ends = std::max(s.turn_ends, end);
    if (--s.to_leave == 0) hand_over_port(port);
  }

  /// The turn ends when the step's last message has left. Where one message follows and nothing else can take the link
  /// before it, it may as well join the queue now, which spares an event.
  void hand_over_port(int port) {
    if (!transit_[static_cast<std::size_t>(port)] && out_ports_.is_next_step_single(port))
      open_port(port);
    else
      push(state(port).turn_ends, static_cast<std::uint32_t>(port), kOpenPort);
  }

  /// t joins the queue of the link that is `hop` of its path; returns when its last byte has left.
  Picoseconds occupy(int link, TransferId t, std::uint32_t hop, Picoseconds now) {
    LinkState& s = state(link);
    const Picoseconds duration = scenario_.serialization(link, t);
    const Picoseconds start = std::max(now, s.free_at);
    const Picoseconds end = start + duration;
    s.free_at = end;
    s.busy += duration;
    const Picoseconds arrival = end + scenario_.latency(link);
    push(arrival, t, hop + 1 == scenario_.path(t).size() ? kLand : hop + 1);
    if (keep_spans_) timeline_.spans.push_back({t, link, start, end, arrival});
    return end;
  }

  void try_landing(TransferId t, Picoseconds now) {
    const Picoseconds here = std::max(now, scenario_.arrival(scenario_.dst(t)));
    const Picoseconds at = dataflow_.landing_time(t, here);
    if (at == now) [[likely]]
      land(t, now);
    else if (at != Dataflow::kNotYet)
      push(at, t, kLand);
  }

  void land(TransferId t, Picoseconds now) {
    note_finish(scenario_.dst(t), now);
    const TransferId waiting = dataflow_.land(t, [&](TransferId reader) { release(reader); });
    if (waiting != kNoTransfer) [[unlikely]]
      push(now, waiting, kLand);
    meter_.count_landing();
  }

  void note_finish(Rank rank, Picoseconds time) {
    Picoseconds& finish = timeline_.finish[static_cast<std::size_t>(rank)];
    finish = std::max(finish, time);
  }

  Timeline finish_timeline() {
    meter_.check_complete();
    for (const LinkState& s : links_) timeline_.link_busy.push_back(s.busy);
    timeline_.duration = *std::max_element(timeline_.finish.begin(), timeline_.finish.end());
    return std::move(timeline_);
  }

  const Scenario& scenario_;
  Dataflow dataflow_;
  PortOrder out_ports_;
  std::vector<std::uint8_t> transit_;
  std::vector<LinkState> links_;
  std::vector<std::uint8_t> waits_for_;
  EventQueue<Event> queue_;
  std::vector<Event> ready_, serving_;  ///< messages, with the hop before which they stand
  ProgressMeter meter_;
  bool keep_spans_;
  Timeline timeline_;
};

}  // namespace

Timeline simulate_fifo(const Scenario& scenario, const SimulateOptions& options) {
  return FifoNetwork(scenario, options).run();
}

}  // namespace hemiola::simulation
