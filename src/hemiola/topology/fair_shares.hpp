// SPDX-License-Identifier: Apache-2.0
// Max-min fair rates of flows that share links: no flow can have more without taking it from one that has
// less or as little. Rates are recomputed only where flows came or went, and for flows that they can affect.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/topology/fair_filling.hpp"
#include "hemiola/topology/fair_repair.hpp"
#include "hemiola/topology/shared_flows.hpp"

namespace hemiola {

class FairShares {
 public:
  struct Change {
    FlowId flow;
    double rate;
  };

  /// Capacities, one per link; rates are in the same unit.
  explicit FairShares(std::vector<double> capacity);
  FairShares(const FairShares&) = delete;  // one of its parts refers to another

  /// A flow over the links of `path`, which must outlive it. It has no rate until the next `settle`.
  FlowId add(std::span<const int> path);
  /// Its number may be given out again after the next `settle`.
  void remove(FlowId flow);

  /// The flows whose rates have changed, with the new ones. Valid until the next call. Cost: the flows on
  /// links on which a rate changes, a few times each, and O(log l) per such link of l. Where these are most
  /// of the flows, it is that of FairFilling for those connected to a change through links shared with other
  /// flows.
  std::span<const Change> settle();

 private:
  using Flow = SharedFlows::Flow;
  using Link = SharedFlows::Link;
  Flow& flow(FlowId f) { return shared_.flow(f); }
  Link& link(int l) { return shared_.link(l); }
  const Link& link(int l) const { return shared_.link(l); }
  void mark_changed(std::span<const int> path);
  bool settle_alone(int l);
  bool is_alone(FlowId flow) const;
  void fill_alone(FlowId flow);
  bool are_few_concerned() const;
  bool repair();
  void fill_around(int l);
  void collect_from(int start);
  void visit(int l);
  void note_rate(FlowId flow, double rate);

  SharedFlows shared_;
  FairRepair repair_;
  int pause_left_ = 0;          ///< settles for which rates are not mended
  int next_pause_ = 1;          ///< how many these will be when mending is given up next
  std::int64_t use_count_ = 0;  ///< links on the paths of all flows
  std::vector<FlowId> free_, removed_, added_;
  std::vector<int> changed_links_;
  std::uint32_t settle_number_ = 0;
  std::vector<FlowId> group_flows_;
  std::vector<int> group_links_;
  std::vector<std::span<const int>> group_paths_;
  FairFilling filling_;
  std::vector<Change> changes_;
};

}  // namespace hemiola
