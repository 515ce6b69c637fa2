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
        open_port(static_cast<int>(event.subject), now);
      else if (event.hop == kLand)
        try_landing(event.subject, now);
      else
        reach_hop(event.subject, event.hop, now);
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

  /// Gives the port to the next step that uses it; what is ready is sent in the order of the schedule. Then,
  /// as long as all of a step has been sent, the turn goes on: when its last message has left, or right away
  /// where that is the same (one message follows, and nothing else can take the link before it) and spares an
  /// event.
  void open_port(int port, Picoseconds now) {
    LinkState& s = state(port);
    for (;;) {
      const auto step = out_ports_.open_next_step(port);
      s.to_leave = static_cast<std::uint32_t>(step.size());
      for (TransferId t : step)
        if (--waits_for_[t] == 0) send_first_hop(t, port, now);
      if (step.empty() || s.to_leave > 0) return;
      if (!may_open_early(port))
        return push(std::max(now, s.turn_ends), static_cast<std::uint32_t>(port), kOpenPort);
    }
  }

  bool may_open_early(int port) const {
    return !transit_[static_cast<std::size_t>(port)] && out_ports_.is_next_step_single(port);
  }

  /// What t reads is there.
  void release(TransferId t, Picoseconds now) {
    if (--waits_for_[t] > 0) return;
    const int port = scenario_.path(t)[0];
    LinkState& s = state(port);
    send_first_hop(t, port, now);
    if (s.to_leave > 0) return;
    if (may_open_early(port))
      open_port(port, now);
    else
      push(std::max(now, s.turn_ends), static_cast<std::uint32_t>(port), kOpenPort);
  }

  void send_first_hop(TransferId t, int port, Picoseconds now) {
    const Picoseconds end = occupy(port, t, 1, now);
    Picoseconds& finish = timeline_.finish[static_cast<std::size_t>(scenario_.src(t))];
    finish = std::max(finish, end);
    if (const TransferId waiting = dataflow_.leave(t, end); waiting != kNoTransfer) [[unlikely]]
      push(now, waiting, kLand);
    LinkState& s = state(port);
    s.turn_ends = std::max(s.turn_ends, end);
    --s.to_leave;
  }

  /// Queues t on a link at `now`; returns when its last byte has left.
  Picoseconds occupy(int link, TransferId t, std::uint32_t hop, Picoseconds now) {
    LinkState& s = state(link);
    const Picoseconds duration = scenario_.serialization(link, t);
    const Picoseconds start = std::max(now, s.free_at);
    const Picoseconds end = start + duration;
    s.free_at = end;
    s.busy += duration;
    const Picoseconds arrival = end + scenario_.latency(link);
    push(arrival, t, hop == scenario_.path(t).size() ? kLand : hop);
    if (keep_spans_) timeline_.spans.push_back({t, link, start, end, arrival});
    return end;
  }

  void reach_hop(TransferId t, std::uint32_t hop, Picoseconds now) {
    occupy(scenario_.path(t)[hop], t, hop + 1, now);
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
    Picoseconds& finish = timeline_.finish[static_cast<std::size_t>(scenario_.dst(t))];
    finish = std::max(finish, now);
    const TransferId waiting = dataflow_.land(t, [&](TransferId reader) { release(reader, now); });
    if (waiting != kNoTransfer) [[unlikely]]
      push(now, waiting, kLand);
    meter_.count_landing();
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
  ProgressMeter meter_;
  bool keep_spans_;
  Timeline timeline_;
};

}  // namespace

Timeline simulate_fifo(const Scenario& scenario, const SimulateOptions& options) {
  return FifoNetwork(scenario, options).run();
}

}  // namespace hemiola::simulation
