// SPDX-License-Identifier: Apache-2.0
#include "hemiola/simulate/fluid.hpp"

#include <algorithm>
#include <cmath>

#include "hemiola/base/heedful.hpp"
#include "hemiola/simulate/coding.hpp"
#include "hemiola/simulate/dataflow.hpp"
#include "hemiola/simulate/event_queue.hpp"
#include "hemiola/simulate/joined_changes.hpp"
#include "hemiola/simulate/link_queues.hpp"
#include "hemiola/simulate/messages.hpp"
#include "hemiola/simulate/port_order.hpp"
#include "hemiola/simulate/progress_meter.hpp"
#include "hemiola/simulate/recorder.hpp"
#include "hemiola/topology/fair_shares.hpp"

namespace hemiola::simulation {
namespace {

std::vector<double> capacities(const Scenario& scenario) {
  std::vector<double> capacity;
  for (int l = 0; l < scenario.topology().link_count(); ++l) capacity.push_back(1 / scenario.ps_per_byte(l));
  return capacity;
}

class FluidNetwork {
 public:
  FluidNetwork(const Scenario& scenario, const SimulateOptions& options)
      : scenario_(scenario),
        dataflow_(scenario),
        out_(PortOrder(scenario, PortOrder::Direction::out)),
        in_(PortOrder(scenario, PortOrder::Direction::in)),
        shares_(capacities(scenario)),
        link_queues_(scenario),
        joined_(scenario, &link_queues_),
        messages_(scenario),
        coding_(scenario, scenario.density(), options.codecs),
        payments_(messages_.are_free() ? 0 : scenario.transfer_count()),
        next_waiting_(payments_.size(), kNoTransfer),
        waits_for_(scenario.transfer_count(), 3),
        meter_(dataflow_.message_count(), options.progress),
        recorder_(options.keep_spans, scenario.transfer_count()) {
    timeline_.link_busy.resize(static_cast<std::size_t>(scenario.topology().link_count()));
    for_heedful_blocks(scenario.transfer_count(), [this](TransferId begin, TransferId end) {
      for (TransferId t = begin; t < end; ++t) count_what_it_waits_for(t);
    });
    for (Rank rank : indices<Rank>(scenario.topology().rank_count())) {
      timeline_.finish.push_back(scenario.arrival(rank));
      push(scenario.arrival(rank), static_cast<std::uint32_t>(rank), kRankArrives);
    }
  }

  Timeline run() {
    while (!queue_.empty()) {
      const auto [now, event] = queue_.pop();
      meter_.count_event();
      if (event.what == kRankArrives)
        open_ports_of(Rank{event.subject}, now);
      else if (event.what == kLand)
        try_landing(event.subject, now);
      else if (event.what == kInflow)
        link_queues_.change_kept(event.subject, now);
      else if (event.what == kInflows)
        joined_.arrive(event.subject, now);
      else if (event.what == kEncode)
        push(coding_.encode(event.subject, now), event.subject, kRelease);
      else if (event.what == kRelease)
        release(event.subject, now);
      else if (flows_[event.subject].version == event.what)
        end_flow(event.subject, now);
      if (!queue_.has_more_now()) settle(now);
    }
    meter_.check_complete();
    recorder_.move_to(&timeline_);
    timeline_.duration = *std::max_element(timeline_.finish.begin(), timeline_.finish.end());
    return std::move(timeline_);
  }

 private:
  static constexpr std::uint32_t kRankArrives = ~std::uint32_t{0};
  static constexpr std::uint32_t kLand = kRankArrives - 1;
  static constexpr std::uint32_t kInflow = kRankArrives - 2;
  static constexpr std::uint32_t kEncode = kRankArrives - 3;
  static constexpr std::uint32_t kRelease = kRankArrives - 4;
  static constexpr std::uint32_t kInflows = kRankArrives - 5;
  static constexpr std::uint32_t kVersions = kRankArrives - 6;
  struct Event {
    std::uint32_t subject;  ///< a rank, a transfer, a change that link queues keep, a wave of them, or a flow
    std::uint32_t what;     ///< one of the above, or the version of the flow whose end it is
  };
  static constexpr std::int32_t kWholePath = -1;
  /// A transfer's bytes on their way, or its message's time on a link beside them, as so many bytes of that
  /// link.
  struct Flow {
    TransferId transfer = kNoTransfer;
    std::uint32_t version = 0;  ///< an end that was computed for another version is void
    double bytes_left = 0;
    double rate = 0;  ///< bytes per picosecond, since `since`
    Picoseconds since = 0;
    Picoseconds start = 0;
    std::int32_t hop = kWholePath;  ///< the link of the path, where it is the message's
  };
  /// A message's time on its links beside its bytes.
  struct Payment {
    static constexpr std::uint32_t kNotBegun = ~std::uint32_t{0};
    std::uint32_t links_left = kNotBegun;
    TransferId waiting = kNoTransfer;  ///< the latest of the transfers that wait for it, strung together
  };
  /// One direction of all ports: their order, and how many of the open step have not left.
  struct Ports {
    explicit Ports(PortOrder o) : order(std::move(o)), to_leave(order.port_count()) {}
    PortOrder order;
    std::vector<std::uint32_t> to_leave;
  };

  void count_what_it_waits_for(TransferId t) {
    if (dataflow_.can_read_at_once(t)) --waits_for_[t];
    if (scenario_.is_within_rank(t) && scenario_.is_sent(t)) {
      --waits_for_[t];
      push(scenario_.arrival(scenario_.src(t)), t, kRelease);
    }
    if (!coding_.waits_for_encoding(t)) return;
    ++waits_for_[t];
    if (dataflow_.can_read_at_once(t) && scenario_.is_sent(t))
      push(scenario_.arrival(scenario_.src(t)), t, kEncode);
  }

  void push(Picoseconds time, std::uint32_t subject, std::uint32_t what) {
    queue_.push(within_limit(time), {subject, what});
  }

  void open_ports_of(Rank rank, Picoseconds now) {
    const Topology& topology = scenario_.topology();
    for (const int* l = topology.out_begin(Vertex{rank}); l != topology.out_end(Vertex{rank}); ++l)
      open_next_step(&out_, *l, now);
    for (const int* l = topology.in_begin(Vertex{rank}); l != topology.in_end(Vertex{rank}); ++l)
      open_next_step(&in_, *l, now);
  }

  void open_next_step(Ports* ports, int port, Picoseconds now) {
    ports->to_leave[static_cast<std::size_t>(port)] =
        ports->order.open_next_step(port, [&](TransferId t) { release(t, now); });
  }

  /// The slot that t reads is final.
  void make_ready(TransferId t, Picoseconds now) {
    if (coding_.waits_for_encoding(t)) push(coding_.encode(t, now), t, kRelease);
    release(t, now);
  }

  /// One of t's conditions has come: the slot it reads, the turn of one of its two ports (within a rank: its
  /// arrival), or its content, encoded.
  void release(TransferId t, Picoseconds now) {
    if (--waits_for_[t] > 0) return;
    if (scenario_.is_within_rank(t))
      move_within_rank(t, now);
    else if (messages_.are_free() || is_paid(t, now))
      add_flow(t, kWholePath, load(t), now);
  }

  /// From one slot of a rank to another, at once.
  void move_within_rank(TransferId t, Picoseconds now) {
    if (const TransferId waiting = dataflow_.leave(t, now); waiting != kNoTransfer) push(now, waiting, kLand);
    push(now, t, kLand);
  }

  double load(TransferId t) const { return scenario_.load(t) * coding_.share(t); }

  void add_flow(TransferId t, std::int32_t hop, double bytes, Picoseconds now) {
    const std::span<const int> path = scenario_.path(t);
    const FlowId f = shares_.add(hop == kWholePath ? path : path.subspan(static_cast<std::size_t>(hop), 1));
    if (f >= flows_.size()) flows_.resize(f + 1);
    Flow& flow = flows_[f];
    flow = {t, flow.version, bytes, 0, now, now, hop};
  }

  /// Whether t's message has occupied its links for itself. Otherwise t waits for that, which begins with the first of
  /// its chunks that may go, on all links at once.
  bool is_paid(TransferId t, Picoseconds now) {
    Payment& payment = payments_[messages_.of(t)];
    if (payment.links_left == Payment::kNotBegun) begin_payment(t, &payment, now);
    if (payment.links_left == 0) return true;
    next_waiting_[t] = payment.waiting;
    payment.waiting = t;
    return false;
  }

  void begin_payment(TransferId t, Payment* payment, Picoseconds now) {
    const std::span<const int> path = scenario_.path(t);
    payment->links_left = 0;
    for (std::size_t hop = 0; hop < path.size(); ++hop) {
      if (scenario_.message(path[hop]) == 0) continue;
      ++payment->links_left;
      add_flow(t, static_cast<std::int32_t>(hop),
               static_cast<double>(scenario_.message(path[hop])) / scenario_.ps_per_byte(path[hop]), now);
    }
  }

  void end_payment(int link, TransferId t, Picoseconds now) {
    timeline_.link_busy[static_cast<std::size_t>(link)] += scenario_.message(link);
    Payment& payment = payments_[messages_.of(t)];
    if (--payment.links_left > 0) return;
    for (TransferId next = payment.waiting; next != kNoTransfer; next = next_waiting_[next])
      add_flow(next, kWholePath, load(next), now);
  }

  /// Gives every flow whose share has changed its new end.
  void settle(Picoseconds now) {
    const std::span<const FairShares::Change> changes = shares_.settle();
    const bool joins = joined_.are_worth_it(changes.size());
    for (const auto [f, rate] : changes) {
      meter_.count_event();
      Flow& flow = flows_[f];
      flow.bytes_left -= flow.rate * static_cast<double>(now - flow.since);
      if (joins && flow.hop == kWholePath)
        joined_.add(flow.transfer, flow.rate == 0, rate - flow.rate);
      else
        tell_links(flow, rate, now);
      flow.rate = rate;
      flow.since = now;
      flow.version = (flow.version + 1) % kVersions;
      push(now + rounded_up(flow.bytes_left / rate), f, flow.version);
    }
    if (joins) joined_.send(now, [&](Picoseconds time, std::uint32_t wave) { push(time, wave, kInflows); });
  }

  void end_flow(FlowId f, Picoseconds now) {
    Flow& flow = flows_[f];
    flow.version = (flow.version + 1) % kVersions;
    shares_.remove(f);
    tell_links(flow, 0, now);
    const TransferId t = flow.transfer;
    if (flow.hop != kWholePath) {
      end_payment(scenario_.path(t)[static_cast<std::size_t>(flow.hop)], t, now);
      return;
    }
    for (int l : scenario_.path(t))
      timeline_.link_busy[static_cast<std::size_t>(l)] +=
          static_cast<Picoseconds>(load(t) * scenario_.ps_per_byte(l) + 0.5);
    recorder_.span({t, scenario_.first_link(t), flow.start, now, now + scenario_.path_latency(t)});
    leave(t, now);
  }

  /// The flow's rate changes from now on; it ends where that is 0.
  void tell_links(const Flow& flow, double rate, Picoseconds now) {
    const TransferId ending = rate == 0 && flow.hop == kWholePath ? flow.transfer : kNoTransfer;
    const int only =
        flow.hop == kWholePath ? -1 : scenario_.path(flow.transfer)[static_cast<std::size_t>(flow.hop)];
    const int flows = (flow.rate == 0) - (rate == 0);
    link_queues_.visit(flow.transfer, [&](int l, Picoseconds later) {
      if (only >= 0 && l != only) return;
      const LinkQueues::Change change{l, flows, rate - flow.rate, ending};
      if (later == 0)
        link_queues_.change(change, now);
      else
        push(now + later, link_queues_.keep(change), kInflow);
    });
  }

  /// The last byte of t has left: transfers that waited for its slot, or for its ports, may go on.
  void leave(TransferId t, Picoseconds now) {
    push(now + scenario_.path_latency(t), t, kLand);
    dataflow_.prefetch_landing(t);
    note_finish(scenario_.src(t), now);
    if (const TransferId waiting = dataflow_.leave(t, now); waiting != kNoTransfer) push(now, waiting, kLand);
    count_leaving(&out_, scenario_.path(t).front(), now);
    count_leaving(&in_, scenario_.path(t).back(), now);
  }

  void count_leaving(Ports* ports, int port, Picoseconds now) {
    if (--ports->to_leave[static_cast<std::size_t>(port)] == 0) open_next_step(ports, port, now);
  }

  void try_landing(TransferId t, Picoseconds now) {
    if (const Picoseconds wait = link_queues_.take_wait(t); wait > 0) [[unlikely]] {
      recorder_.delay(t, wait);
      push(now + wait, t, kLand);
      return;
    }
    if (const Picoseconds decoded = coding_.decode(t, now); decoded > now) {
      push(decoded, t, kLand);
      return;
    }
    const Picoseconds at = dataflow_.landing_time(t, now);
    if (at == now)
      land(t, now);
    else if (at != Dataflow::kNotYet)
      push(at, t, kLand);
  }

  void land(TransferId t, Picoseconds now) {
    note_finish(scenario_.dst(t), now);
    const TransferId waiting = dataflow_.land(t, [&](TransferId reader) { make_ready(reader, now); });
    if (waiting != kNoTransfer) push(now, waiting, kLand);
    recorder_.landing(t, now);
    meter_.count_landing();
  }

  void note_finish(Rank rank, Picoseconds now) {
    Picoseconds& finish = timeline_.finish[static_cast<std::size_t>(rank)];
    finish = std::max(finish, now);
  }

  const Scenario& scenario_;
  Dataflow dataflow_;
  Ports out_, in_;
  FairShares shares_;
  LinkQueues link_queues_;
  JoinedChanges joined_;
  std::vector<Flow> flows_;
  Messages messages_;
  Coding coding_;
  std::vector<Payment> payments_;  ///< by the first transfer of a message; empty where messages are free
  std::vector<TransferId> next_waiting_;  ///< per transfer: those that wait for the same payment
  std::vector<std::uint8_t> waits_for_;
  EventQueue<Event> queue_;
  ProgressMeter meter_;
  Recorder recorder_;
  Timeline timeline_;
};

}  // namespace

Timeline simulate_fluid(const Scenario& scenario, const SimulateOptions& options) {
  return FluidNetwork(scenario, options).run();
}

}  // namespace hemiola::simulation
