// SPDX-License-Identifier: Apache-2.0
// Max-min fair rates of flows from scratch: all rates rise together, and a link that is full stops the flows on it.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hemiola {

/// Whether two rates are one that was computed along two ways. Keeping them equal keeps the ends of equal flows at the
/// same instant, which is both exact and cheap.
inline bool is_same_rate(double a, double b) {
  return std::abs(a - b) <= 1e-12 * b;
}

class FairFilling {
 public:
  /// `capacity` per link, and one path of links per flow; rates are in the capacities' unit, one per flow, valid until
  /// the next call. Flows whose rates differ by no more than rounding get the same one. Cost: O(f h + l log l) for f
  /// flows with paths of h links, and the l links on them; no allocations after a call as large.
  std::span<const double> fill(std::span<const std::span<const int>> paths, std::span<const double> capacity);
  /// Per flow of the last call: a link of its path that is full and on which nobody has more.
  std::span<const int> full_links() const { return full_links_; }

 private:
  struct Use {
    std::uint32_t flow;
    std::uint32_t next;  ///< of the same link
  };
  struct LinkState {
    double spare = 0;        ///< bandwidth that fixed flows leave
    std::uint32_t open = 0;  ///< flows that are not fixed
    std::uint32_t first_use = 0;
    bool is_full = false;
    double share() const { return spare / open; }
  };
  using Share = std::pair<double, int>;  ///< of a link, as it was at some time

  LinkState& link(int l) { return links_[static_cast<std::size_t>(l)]; }
  void count_flows(std::span<const std::span<const int>> paths, std::span<const double> capacity);
  std::size_t fill_a_level();
  std::size_t fix_all();
  void string_uses();
  void fill_link_by_link();
  void raise_level(double share);
  void fix(std::uint32_t flow, int full_link);

  std::span<const std::span<const int>> paths_;
  std::vector<LinkState> links_;  ///< of all links; closed but while they are filled
  std::vector<double> rates_;
  std::vector<int> full_links_;
  std::vector<std::uint32_t> open_flows_;
  std::vector<int> open_links_;
  double level_ = 0;
  std::vector<Use> uses_;
  std::vector<Share> shares_;
};

}  // namespace hemiola
