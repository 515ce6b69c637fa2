// SPDX-License-Identifier: Apache-2.0
// Max-min fair rates after flows came and went, from those before: work grows with the flows on links where a rate
// changes, not with all that are connected.
//
// Rates rise together, as in FairFilling, but only differences from the time before are followed. A link is
// concerned once a flow on it came, went, or got another rate; rates below that level stay the same. Of a
// concerned link one of two things comes next:
// - it fills up: its flows that have no rate yet get the level, and where that is not their old rate, their
//   other links are concerned from this level on;
// - the level passes its old share and it has room left: the flows that it held back are open again, and
//   their other links concerned. Levels come in order, so that a link fills up once, and a flow gets its rate
//   once.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "hemiola/topology/shared_flows.hpp"

namespace hemiola {

class FairRepair {
 public:
  /// `shared` outlives it, and all its links are there.
  explicit FairRepair(SharedFlows* shared) : shared_(*shared), links_(shared->links.size()) {}

  /// Flows of links that have not changed have the rates, and full links, that were fair before; `added` have none yet.
  /// Returns false where that takes more than so many looks at flows: full links are then out of date.
  bool repair(std::span<const int> changed_links, std::span<const FlowId> added, std::int64_t looks);

  /// Flows whose rates may have changed: `next_rate` is their rate now.
  std::span<const FlowId> concerned() const { return concerned_; }

 private:
  using Flow = SharedFlows::Flow;
  using Due = std::pair<double, int>;  ///< the level from which on there is something to do for a link
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  struct LinkState {
    std::uint32_t repaired = 0;  ///< the number of the repair that the rest is about
    bool is_stale = false;       ///< `share` and `before` are those of other limits than flows have now
    bool is_full = false;
    double due = kNone;
    double share = kNone;  ///< the bandwidth for all its flows, some of which take less; kNone: their own sum
    double before = kNone;  ///< its share for those that it still holds back; kNone: no flow
  };

  LinkState& link(int l) { return links_[static_cast<std::size_t>(l)]; }
  const std::vector<FlowId>& flows_of(int l);
  bool is_concerned(const Flow& flow) const { return flow.repaired == number_; }
  double limit_elsewhere(const Flow& flow, int l) const;
  void concern(FlowId f, double rate);
  void note(int l, bool may_give_less);
  void push(int l, double due);
  void advance(int l);
  void work_out(int l);
  double raised_share(int l, double share, double most);
  void fill(int l);
  void fix(FlowId f, int l);
  void pass(int l);
  void open(FlowId f, int l);

  SharedFlows& shared_;
  std::vector<LinkState> links_;
  std::vector<FlowId> concerned_;
  std::vector<Due> dues_;  ///< a heap; an entry is void where it is not the link's own `due`
  std::uint32_t number_ = 0;
  std::int64_t looks_left_ = 0;
  double level_ = 0;
};

}  // namespace hemiola
