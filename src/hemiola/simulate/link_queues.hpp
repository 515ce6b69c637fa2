// What queues before links in a network of fluids. Flows leave their sources at rates that share every link fairly; but
// what left at one time reaches a link at different times where flows have different latencies before it, and so more
// can meet there than the link carries. The rest waits, first come first served, and is late at its far end by as much.
//
// Before a link whose flows all have the same latency nothing ever queues, and before another never more than the link
// carries in the difference between the longest and the shortest of these latencies. Each link is looked at by itself:
// what has waited before one link comes to the next as if it had not, so a flow waits as long as its longest queue.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/simulate/scenario.hpp"

namespace hemiola::simulation {

class LinkQueues {
 public:
  /// The way into one link for all that comes to it equally late.
  using InletId = std::uint32_t;

  explicit LinkQueues(const Scenario& scenario);

  /// Whether nothing can ever queue.
  bool empty() const { return queues_.empty(); }

  /// Those of t's path before which something can queue, one per link.
  std::span<const InletId> inlets_of(TransferId t) const {
    if (empty()) return {};
    const std::uint32_t pair = scenario_.schedule().link()[t];
    return std::span(inlets_of_pairs_)
        .subspan(first_inlet_[pair], first_inlet_[pair + 1] - first_inlet_[pair]);
  }
  int link_of(InletId i) const { return inlets_[i].link; }

  /// From now on so many flows more, and bytes per picosecond, set off for an inlet. Counts when they are sent.
  void add(InletId i, int flows, double rate) {
    Inlet& inlet = inlets_[i];
    if (!inlet.has_changed) {
      inlet.has_changed = true;
      changed_inlets_.push_back(i);
    }
    inlet.flows += flows;
    inlet.rate += rate;
  }

  /// Sends what was added: what comes to its link at once counts there, the rest as waves, of which push(later, wave) is
  /// told. However many flows have changed, an inlet has one change, and what comes at one time is one wave.
  template <typename Push>
  void send(Picoseconds now, Push push) {
    for (const InletId i : changed_inlets_) {
      Inlet& inlet = inlets_[i];
      if (inlet.later == 0)
        change({inlet.rate, inlet.flows, inlet.link, kNoTransfer, kNone}, now);
      else
        join_wave(inlet);
      inlet.has_changed = false;
      inlet.flows = 0;
      inlet.rate = 0;
      inlet.ending = kNoTransfer;
    }
    changed_inlets_.clear();
    for (const std::uint32_t delay : setting_off_) {
      push(delays_[delay].later, delays_[delay].wave);
      delays_[delay].wave = kNone;
    }
    setting_off_.clear();
  }
  /// A wave has come; its number may be given to another. `now` never goes back.
  void arrive(std::uint32_t wave, Picoseconds now);

  /// How much later than on the shortest path what sets off for an inlet comes to its link.
  Picoseconds later(InletId i) const { return inlets_[i].later; }
  /// The last byte of t sets off for an inlet that was changed now: it waits as long as what comes with the change that is
  /// sent. Returns whether there is no other such flow, whose end would have to be kept.
  bool end_with_change(TransferId t, InletId i) {
    if (inlets_[i].ending != kNoTransfer) return false;
    inlets_[i].ending = t;
    return true;
  }
  /// The last byte of t comes to the inlet's link, before which it waits.
  void end(TransferId t, int link, Picoseconds now);
  /// Keeps an end that comes later; returns its number.
  std::uint32_t keep_end(TransferId t, int link);
  /// It has come; its number may be given to another.
  void end_kept(std::uint32_t number, Picoseconds now);

  /// How long the last byte of t waits, when all its links have been told of it; once.
  Picoseconds take_wait(TransferId t) {
    if (empty() || wait_[t] == 0) [[likely]]
      return 0;
    const Picoseconds wait = wait_[t];
    wait_[t] = 0;
    return wait;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Queue {
    Picoseconds least_before = 0;  ///< latency before the link, on the shortest and the longest path
    Picoseconds most_before = -1;
    double capacity = 0;  ///< bytes per picosecond
    double inflow = 0;    ///< the same, since `since`
    double waiting = 0;   ///< bytes, at `since`
    Picoseconds since = 0;
    int flows = 0;
    bool can_queue() const { return most_before > least_before; }
  };
  /// What sets off now, to be sent.
  struct Inlet {
    Picoseconds later = 0;  ///< than on the shortest path
    double rate = 0;
    int flows = 0;
    int link = 0;
    std::uint32_t delay = 0;  ///< index
    TransferId ending = kNoTransfer;
    bool has_changed = false;
  };
  struct Delay {
    Picoseconds later;
    std::uint32_t wave = kNone;  ///< the latest of the changes that set off now
  };
  /// Of a link's inflow, when it comes to the link.
  struct Change {
    double rate;
    int flows;
    int link;
    TransferId ending;   ///< whose last byte this is, or kNoTransfer
    std::uint32_t next;  ///< of the same wave, or of those that are free
  };
  struct End {
    TransferId transfer;
    int link;
  };

  Queue& queue(int link) { return queues_[static_cast<std::size_t>(link)]; }
  void find_latencies();
  void make_inlets();
  void make_delays();
  void join_wave(const Inlet& inlet);
  void note_wait(TransferId t, const Queue& passed);
  void bring_to(Queue* queue, Picoseconds now);
  void change(const Change& change, Picoseconds now);

  const Scenario& scenario_;
  std::vector<Queue> queues_;             ///< per link; empty where nothing can queue
  std::vector<std::size_t> first_inlet_;  ///< per pair, and one more
  std::vector<InletId> inlets_of_pairs_;
  std::vector<Inlet> inlets_;
  std::vector<Delay> delays_;
  std::vector<InletId> changed_inlets_;
  std::vector<std::uint32_t> setting_off_;  ///< delays with waves that are to be sent
  std::vector<Change> changes_;
  std::uint32_t free_change_ = kNone;
  std::vector<Picoseconds> wait_;  ///< per transfer
  std::vector<End> ends_;
  std::vector<std::uint32_t> free_ends_;
};

}  // namespace hemiola::simulation
