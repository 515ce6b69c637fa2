// SPDX-License-Identifier: Apache-2.0
// Where one flow's end changes the rates of many, links are told of changes that come together, and not of
// each flow. Changes of one moment are summed by link and latency, and all that come equally late, to any
// link, are one event.
//
// That takes tables of all paths, and pays only where many of the flows meet. So tables are made when as many flows as there
// are paths have changed at moments at which more changed than there are links; and where joining saves little, it pauses.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/simulate/link_queues.hpp"
#include "hemiola/simulate/scenario.hpp"

namespace hemiola::simulation {

class JoinedChanges {
 public:
  /// Of flows before the links of `queues`, which must outlive it.
  JoinedChanges(const Scenario& scenario, LinkQueues* queues) : scenario_(scenario), queues_(*queues) {}
  JoinedChanges(const JoinedChanges&) = delete;  // the queues are another's

  /// Whether so many flows that change now are to be added here, and then sent. To be asked once of a moment.
  bool are_worth_it(std::size_t flow_count) {
    return flow_count >= kFewest && !queues_.empty() && are_worth_it_now(flow_count);
  }

  /// From now on so many flows more, and bytes per picosecond more, set off on the path of t. Counts when they are sent.
  void add(TransferId t, int flows, double rate) {
    const std::uint32_t pair = scenario_.schedule().link()[t];
    for (std::size_t i = first_inlet_[pair]; i < first_inlet_[pair + 1]; ++i) {
      Inlet& inlet = inlets_[inlets_of_pairs_[i]];
      if (!inlet.has_changed) {
        inlet.has_changed = true;
        changed_inlets_.push_back(inlets_of_pairs_[i]);
      }
      inlet.flows += flows;
      inlet.rate += rate;
    }
    added_ += first_inlet_[pair + 1] - first_inlet_[pair];
  }

  /// Sends the added changes: those that come to their link at once count there, the rest as waves, of which
  /// push(time, wave) is told.
  template <typename Push>
  void send(Picoseconds now, Push push) {
    set_off(now);
    for (const std::uint32_t delay : setting_off_) {
      push(now + delays_[delay].later, delays_[delay].wave);
      delays_[delay].wave = kNone;
    }
    setting_off_.clear();
  }

  /// A wave has come; its number may be given to another. `now` never goes back.
  void arrive(std::uint32_t wave, Picoseconds now);

 private:
  static constexpr std::size_t kFewest = 32;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  /// The way into one link for all changes that come to it equally late, and those that set off there now.
  struct Inlet {
    double rate = 0;
    int flows = 0;
    int link = 0;
    std::uint32_t delay = 0;  ///< index
    bool has_changed = false;
  };
  struct Delay {
    Picoseconds later;   ///< than on the shortest path
    std::uint32_t wave;  ///< the latest of the changes that set off now
  };
  /// Of a link's inflow, when it comes to the link.
  struct Change {
    double rate;
    int flows;
    int link;
    std::uint32_t next;  ///< of the same wave, or of those that are free
  };

  bool are_worth_it_now(std::size_t flow_count);
  void make_inlets();
  void set_off(Picoseconds now);
  void join_wave(const Inlet& inlet);

  const Scenario& scenario_;
  LinkQueues& queues_;
  std::size_t seen_ = 0;  ///< flows that changed at such moments, until tables are made
  int pause_left_ = 0;    ///< moments for which nothing is joined
  int next_pause_ = 1;    ///< how many these will be when joining saves little next
  std::size_t added_ = 0;
  std::vector<std::size_t> first_inlet_;  ///< per pair, and one more; empty until tables are made
  std::vector<std::uint32_t> inlets_of_pairs_;
  std::vector<Inlet> inlets_;
  std::vector<Delay> delays_;
  std::vector<std::uint32_t> changed_inlets_;
  std::vector<std::uint32_t> setting_off_;  ///< delays with waves that are to be sent
  std::vector<Change> changes_;
  std::uint32_t free_change_ = kNone;
};

}  // namespace hemiola::simulation
