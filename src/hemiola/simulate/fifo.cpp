// SPDX-License-Identifier: Apache-2.0
#include "hemiola/simulate/fifo.hpp"

#include <algorithm>

#include "hemiola/base/heedful.hpp"
#include "hemiola/simulate/coding.hpp"
#include "hemiola/simulate/dataflow.hpp"
#include "hemiola/simulate/event_queue.hpp"
#include "hemiola/simulate/messages.hpp"
#include "hemiola/simulate/port_order.hpp"
#include "hemiola/simulate/progress_meter.hpp"
#include "hemiola/simulate/recorder.hpp"

namespace hemiola::simulation {
namespace {

class FifoNetwork {
 public:
  FifoNetwork(const Scenario& scenario, const SimulateOptions& options)
      : scenario_(scenario),
        dataflow_(scenario),
        out_ports_(scenario, PortOrder::Direction::out),
        messages_(scenario),
        coding_(scenario, scenario.density(), options.codecs),
        links_paid_(messages_.are_free() ? 0 : scenario.transfer_count()),
        waits_for_(scenario.transfer_count(), 2),
        meter_(dataflow_.message_count(), options.progress),
        recorder_(options.keep_spans, scenario.transfer_count()) {
    for (int l = 0; l < scenario.topology().link_count(); ++l)
      links_.push_back({.latency = scenario.latency(l), .ps_per_byte = scenario.ps_per_byte(l)});
    for (int l : scenario.transit_links()) link(l).is_transit = true;
    for_heedful_blocks(scenario.transfer_count(), [this](TransferId begin, TransferId end) {
      for (TransferId t = begin; t < end; ++t) count_what_it_waits_for(t);
    });
    for (Rank rank : indices<Rank>(scenario.topology().rank_count())) {
      timeline_.finish.push_back(scenario.arrival(rank));
      open_ports_on_arrival(rank);
    }
  }

  Timeline run() {
    while (!queue_.empty()) {
      const auto [now, event] = queue_.pop();
      meter_.count_event();
      if (event.hop == kLand) [[likely]]
        try_landing(event.subject, now);
      else if (event.hop == kOpenPort)
        open_port(static_cast<int>(event.subject));
      else if (event.hop == kEncode)
        push(coding_.encode(event.subject, now), event.subject, kRelease);
      else if (event.hop == kRelease)
        release(event.subject);
      else
        contending_.push_back({event.subject, event.hop});
      send_alone(now);
      if (!contending_.empty() && !queue_.has_more_now()) settle_contention(now);
    }
    return finish_timeline();
  }

 private:
  static constexpr std::uint32_t kOpenPort = ~std::uint32_t{0};
  static constexpr std::uint32_t kLand = kOpenPort - 1;
  static constexpr std::uint32_t kEncode = kOpenPort - 2;
  static constexpr std::uint32_t kRelease = kOpenPort - 3;
  struct Event {
    std::uint32_t subject;  ///< a transfer, or the link that is the port to open
    std::uint32_t hop;  ///< how many links of its path the transfer has passed, kLand after all, or another
                        ///< of those
  };
  struct LinkState {
    Picoseconds latency;
    double ps_per_byte;
    Picoseconds free_at = 0;
    Picoseconds busy = 0;
    Picoseconds turn_ends = 0;   ///< as a port: when the last message of the open step has left
    std::uint32_t to_leave = 0;  ///< as a port: messages of the open step whose start is not known
    bool is_transit = false;     ///< carries some message as a later link of its path
    bool is_contended = false;   ///< is a transit link, or its open step has several messages
  };

  void count_what_it_waits_for(TransferId t) {
    if (dataflow_.can_read_at_once(t)) --waits_for_[t];
    if (scenario_.is_within_rank(t) && scenario_.is_sent(t))
      push(scenario_.arrival(scenario_.src(t)), t, kRelease);
    if (!coding_.waits_for_encoding(t)) return;
    ++waits_for_[t];
    if (dataflow_.can_read_at_once(t) && scenario_.is_sent(t))
      push(scenario_.arrival(scenario_.src(t)), t, kEncode);
  }

  LinkState& link(int index) { return links_[static_cast<std::size_t>(index)]; }

  void open_ports_on_arrival(Rank rank) {
    const Topology& topology = scenario_.topology();
    for (const int* l = topology.out_begin(Vertex{rank}); l != topology.out_end(Vertex{rank}); ++l)
      if (out_ports_.has_next_step(*l))
        push(scenario_.arrival(rank), static_cast<std::uint32_t>(*l), kOpenPort);
  }

  void push(Picoseconds time, std::uint32_t subject, std::uint32_t hop) {
    queue_.push(within_limit(time), {subject, hop});
  }

  /// Gives the port to the next step that uses it.
  void open_port(int port) {
    LinkState& state = link(port);
    state.is_contended = state.is_transit || !out_ports_.is_next_step_single(port);
    state.to_leave = out_ports_.open_next_step(port, [this](TransferId t) { release(t); });
  }

  /// The slot that t reads is final.
  void make_ready(TransferId t, Picoseconds now) {
    if (coding_.waits_for_encoding(t)) [[unlikely]]
      push(coding_.encode(t, now), t, kRelease);
    release(t);
  }

  /// One of t's conditions has come: the slot it reads, its port's turn (within a rank: its arrival), or its
  /// content, encoded. Where nothing else can take the link, order does not matter.
  void release(TransferId t) {
    if (--waits_for_[t] > 0) return;
    if (!scenario_.is_within_rank(t) && link(scenario_.first_link(t)).is_contended)
      contending_.push_back({t, 0});
    else
      alone_.push_back(t);
  }

  void send_alone(Picoseconds now) {
    while (!alone_.empty()) {
      const TransferId t = alone_.back();
      alone_.pop_back();
      send_first_hop(t, now);
    }
  }

  /// Everything that can happen at `now` has; transfers that became ready by it join the queues of their
  /// links in the order of the schedule.
  void settle_contention(Picoseconds now) {
    const auto in_order_of_schedule = [](const Event& a, const Event& b) { return a.subject < b.subject; };
    if (!std::is_sorted(contending_.begin(), contending_.end(), in_order_of_schedule))
      std::sort(contending_.begin(), contending_.end(), in_order_of_schedule);
    joining_.swap(contending_);
    for (const auto [t, hop] : joining_)
      if (hop == 0)
        send_first_hop(t, now);
      else
        occupy(scenario_.path(t)[hop], t, hop, now);
    joining_.clear();
    send_alone(now);
  }

  /// From one slot of a rank to another, at once.
  void move_within_rank(TransferId t, Picoseconds now) {
    if (const TransferId waiting = dataflow_.leave(t, now); waiting != kNoTransfer) push(now, waiting, kLand);
    push(now, t, kLand);
  }

  void send_first_hop(TransferId t, Picoseconds now) {
    if (scenario_.is_within_rank(t)) [[unlikely]]
      return move_within_rank(t, now);
    const int port = scenario_.first_link(t);
    const Picoseconds end = occupy(port, t, 0, now);
    if (const TransferId waiting = dataflow_.leave(t, end); waiting != kNoTransfer) [[unlikely]]
      push(now, waiting, kLand);
    LinkState& state = link(port);
    state.turn_ends = end;
    if (--state.to_leave == 0) hand_over_port(port);
  }

  /// The turn ends when the step's last message has left. Where one message follows and nothing else can take the link
  /// before it, it may as well join the queue now, which spares an event.
  void hand_over_port(int port) {
    if (!link(port).is_transit && out_ports_.is_next_step_single(port))
      open_port(port);
    else
      push(link(port).turn_ends, static_cast<std::uint32_t>(port), kOpenPort);
  }

  /// t joins the queue of the link that is `hop` of its path; returns when its last byte has left.
  Picoseconds occupy(int index, TransferId t, std::uint32_t hop, Picoseconds now) {
    LinkState& state = link(index);
    auto duration = rounded_up(scenario_.load(t) * coding_.share(t) * state.ps_per_byte);
    if (!messages_.are_free()) [[unlikely]]
      duration += message_time(index, t, hop);
    const Picoseconds start = std::max(now, state.free_at);
    const Picoseconds end = start + duration;
    state.free_at = end;
    state.busy += duration;
    const Picoseconds arrival = end + state.latency;
    push(arrival, t, hop + 1 == scenario_.hop_count(t) ? kLand : hop + 1);
    recorder_.span({t, index, start, end, arrival});
    return end;
  }

  /// The time of t's message on the link beside its bytes: the first of its chunks that comes there pays for
  /// all.
  Picoseconds message_time(int index, TransferId t, std::uint32_t hop) {
    std::uint32_t& links_paid = links_paid_[messages_.of(t)];
    if (links_paid > hop) return 0;
    ++links_paid;
    return scenario_.message(index);
  }

  void try_landing(TransferId t, Picoseconds now) {
    const Picoseconds here = std::max(now, scenario_.arrival(scenario_.dst(t)));
    if (const Picoseconds decoded = coding_.decode(t, here); decoded > here) [[unlikely]] {
      push(decoded, t, kLand);
      return;
    }
    const Picoseconds at = dataflow_.landing_time(t, here);
    if (at == now) [[likely]]
      land(t, now);
    else if (at != Dataflow::kNotYet)
      push(at, t, kLand);
  }

  void land(TransferId t, Picoseconds now) {
    timeline_.finish[static_cast<std::size_t>(scenario_.dst(t))] = now;  // later than any before
    const TransferId waiting = dataflow_.land(t, [this, now](TransferId reader) { make_ready(reader, now); });
    if (waiting != kNoTransfer) [[unlikely]]
      push(now, waiting, kLand);
    recorder_.landing(t, now);
    meter_.count_landing();
  }

  Timeline finish_timeline() {
    meter_.check_complete();
    recorder_.move_to(&timeline_);
    for (int l = 0; l < scenario_.topology().link_count(); ++l) {
      timeline_.link_busy.push_back(link(l).busy);
      const Vertex src = scenario_.topology().link(l).src;
      if (!scenario_.topology().is_rank(src)) continue;
      Picoseconds& finish = timeline_.finish[static_cast<std::size_t>(src)];
      finish = std::max(finish, link(l).turn_ends);
    }
    timeline_.duration = *std::max_element(timeline_.finish.begin(), timeline_.finish.end());
    return std::move(timeline_);
  }

  const Scenario& scenario_;
  Dataflow dataflow_;
  PortOrder out_ports_;
  Messages messages_;
  Coding coding_;
  std::vector<std::uint32_t> links_paid_;  ///< of its path, per message by its first transfer
  std::vector<LinkState> links_;
  LargeVector<std::uint8_t> waits_for_;
  EventQueue<Event> queue_;
  std::vector<TransferId> alone_;            ///< ready, on links that nothing else can take
  std::vector<Event> contending_, joining_;  ///< ready, with the hop before which they stand
  ProgressMeter meter_;
  Recorder recorder_;
  Timeline timeline_;
};

}  // namespace

Timeline simulate_fifo(const Scenario& scenario, const SimulateOptions& options) {
  return FifoNetwork(scenario, options).run();
}

}  // namespace hemiola::simulation
