// SPDX-License-Identifier: Apache-2.0
// The queues before links in a network of fluids. Flows leave their sources at rates that share every link
// fairly. But bytes that left at one time reach a link at different times where flows have different
// latencies before it, and so more can meet there than the link carries. The rest waits, first come first
// served, and is late at its far end by as much.
//
// Before a link whose flows all have the same latency nothing ever queues, and before another never more than the link
// carries in the difference between the longest and the shortest of these latencies. Each link is looked at
// by itself: bytes that have waited before one link come to the next as if they had not, so a flow waits as
// long as its longest queue.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/simulate/scenario.hpp"

namespace hemiola::simulation {

class LinkQueues {
 public:
  /// Of a link's inflow, when it comes to the link.
  struct Change {
    int link;
    int flows;          ///< 1: another flow, -1: one less, 0: the same ones
    double rate;        ///< by so many bytes per picosecond
    TransferId ending;  ///< transfer with this last byte, or kNoTransfer
  };

  explicit LinkQueues(const Scenario& scenario);

  /// Whether nothing can ever queue.
  bool empty() const { return queues_.empty(); }

  /// Calls visit(link, later) for each link of t's path before which a queue can form: bytes that leave the
  /// source now count there as much later. Links count from the time of those that reach them first.
  template <typename Visit>
  void visit(TransferId t, Visit visit) const {
    visit_pair(scenario_.schedule().link()[t], visit);
  }
  /// The same for all transfers of one pair of ranks.
  template <typename Visit>
  void visit_pair(std::uint32_t pair, Visit visit) const {
    if (empty()) return;
    Picoseconds before = 0;
    for (int l : scenario_.path_of_pair(pair)) {
      const Queue& queue = queues_[static_cast<std::size_t>(l)];
      if (queue.can_queue()) visit(l, before - queue.least_before);
      before += scenario_.latency(l);
    }
  }

  /// `now` never goes back.
  void change(const Change& change, Picoseconds now);
  /// Keeps a change that comes later; returns its number.
  std::uint32_t keep(const Change& change);
  /// It has come; its number may be given to another.
  void change_kept(std::uint32_t number, Picoseconds now);

  /// How long the last byte of t waits, when all its links have been told of it; once.
  Picoseconds take_wait(TransferId t) {
    if (empty() || wait_[t] == 0) [[likely]]
      return 0;
    const Picoseconds wait = wait_[t];
    wait_[t] = 0;
    return wait;
  }

 private:
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

  const Scenario& scenario_;
  std::vector<Queue> queues_;      ///< per link; empty where nothing can queue
  std::vector<Picoseconds> wait_;  ///< per transfer
  std::vector<Change> kept_;
  std::vector<std::uint32_t> free_numbers_;
};

}  // namespace hemiola::simulation
