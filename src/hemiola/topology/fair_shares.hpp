// Max-min fair rates of flows that share links: no flow can have more without taking it from one that has
// less or as little. Rates are recomputed only where flows came or went, and for what they can affect.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hemiola/topology/fair_filling.hpp"

namespace hemiola {

using FlowId = std::uint32_t;

class FairShares {
 public:
  struct Change {
    FlowId flow;
    double rate;
  };

  /// Capacities, one per link; rates are in the same unit.
  explicit FairShares(std::vector<double> capacity)
      : capacity_(std::move(capacity)), links_(capacity_.size()) {}

  /// A flow over the links of `path`, which must outlive it. It has no rate until the next `settle`.
  FlowId add(std::span<const int> path);
  /// Its number may be given out again after the next `settle`.
  void remove(FlowId flow);

  /// The flows whose rates are no longer what they were, with the new ones. Valid until the next call.
  /// Cost: that of FairFilling for the flows that are connected to a change through links shared with other flows.
  std::span<const Change> settle();

 private:
  struct Flow {
    std::span<const int> path;
    double rate = 0;         ///< 0: not yet known
    std::uint32_t seen = 0;  ///< the settle that collected it last
    bool is_alive = false;
  };
  struct SharedLink {
    std::vector<FlowId> flows;  ///< may hold dead ones where the link has changed since the last settle
    std::uint32_t seen = 0;
    bool has_changed = false;
  };

  SharedLink& link(int l) { return links_[static_cast<std::size_t>(l)]; }
  const SharedLink& link(int l) const { return links_[static_cast<std::size_t>(l)]; }
  void mark_changed(std::span<const int> path);
  void settle_around(int l);
  bool is_alone(FlowId flow) const;
  void fill_alone(FlowId flow);
  void collect_from(int start);
  void visit(int l);
  void note_rates(std::span<const double> rates);
  void note_rate(FlowId flow, double rate);

  std::vector<double> capacity_;
  std::vector<Flow> flows_;
  std::vector<SharedLink> links_;
  std::vector<FlowId> free_, removed_;
  std::vector<int> changed_links_;
  std::uint32_t settle_number_ = 0;
  std::vector<FlowId> group_flows_;
  std::vector<int> group_links_;
  std::vector<std::span<const int>> group_paths_;
  FairFilling filling_;
  std::vector<Change> changes_;
};

}  // namespace hemiola
