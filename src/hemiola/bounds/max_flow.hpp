// SPDX-License-Identifier: Apache-2.0
// Maximum flows in integers, exact, with the cut that proves them.
#pragma once

#include <cstdint>
#include <vector>

namespace hemiola::bounds {

class FlowNetwork {
 public:
  using Amount = __int128;

  explicit FlowNetwork(int vertex_count)
      : arcs_of_(static_cast<std::size_t>(vertex_count)), to_sink_(arcs_of_.size()), next_(arcs_of_.size()) {}

  /// Returns the arc's number.
  int add_arc(int from, int to, Amount capacity);
  void set_capacity(int arc, Amount capacity) { arcs_[static_cast<std::size_t>(arc)].capacity = capacity; }

  /// The maximum flow, or `enough` as soon as that much flows; earlier flows are forgotten. Dinic's
  /// algorithm, with searches that begin at the sink, so that a source near it is found without looking at
  /// the rest.
  Amount max_flow(int source, int sink, Amount enough);
  /// After a flow below `enough`: whether the vertex lies on the source's side of a cut of that capacity.
  bool is_before_cut(int vertex) const { return to_sink_[static_cast<std::size_t>(vertex)] == kUnreached; }

 private:
  static constexpr int kUnreached = -1;
  struct Arc {
    int to;
    Amount capacity;
    Amount flow;  ///< the reverse arc, the number beside it, has the opposite
    Amount left() const { return capacity - flow; }
  };

  bool measure_distances(int source, int sink);
  Amount push(int vertex, int sink, Amount most);

  std::vector<Arc> arcs_;
  std::vector<std::vector<int>> arcs_of_;
  std::vector<int> to_sink_;       ///< arcs to the sink along which more can flow
  std::vector<std::size_t> next_;  ///< first arc of a vertex that may still carry more in this phase
};

}  // namespace hemiola::bounds
