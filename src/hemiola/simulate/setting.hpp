// SPDX-License-Identifier: Apache-2.0
// Sizes and speeds of a simulation: of each chunk, rank and link, for both networks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/schedule/collective.hpp"
#include "hemiola/schedule/routes.hpp"
#include "hemiola/topology/conditions.hpp"
#include "hemiola/topology/joined_ways.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola::simulation {

class Setting {
 public:
  /// `chunk_weights` as Schedule::chunk_weights gives them. Throws ArgumentError where rank counts differ, or for bytes
  /// or conditions that cannot be.
  Setting(const Collective& collective, std::span<const std::int64_t> chunk_weights, const Topology& topology,
          std::int64_t bytes, const Conditions& conditions);

  /// Throws ArgumentError where one message along one of these paths would take more than 45 days.
  void check_durations(const Routes& routes) const;

  /// As messages of the largest chunk see it.
  const Topology& topology() const { return ways_.topology(); }
  const JoinedWays& ways() const { return ways_; }
  /// Those of messages of the largest chunk.
  Routes routes(std::span<const RankPair> pairs) const { return {topology(), pairs, largest_bytes_}; }
  /// A whole number, below 2^53.
  double bytes(std::uint32_t chunk) const { return chunk_bytes_[chunk]; }
  /// When a rank has arrived and launched the operation; before that nothing leaves it and nothing lands.
  Picoseconds arrival(Rank rank) const { return arrival_[static_cast<std::size_t>(rank)]; }
  Picoseconds latency(int link) const { return latency_[static_cast<std::size_t>(link)]; }
  /// How long a message occupies a link beside its bytes, however slow the ranks that it joins.
  Picoseconds message(int link) const { return topology().link(link).message; }
  /// Of one link, slowed down by the slower of the ranks it joins.
  double ps_per_byte(int link) const { return ps_per_byte_[static_cast<std::size_t>(link)]; }

 private:
  std::vector<double> chunk_bytes_;
  double largest_bytes_;
  JoinedWays ways_;
  std::vector<Picoseconds> arrival_;
  std::vector<Picoseconds> latency_;
  std::vector<double> ps_per_byte_;
};

/// Throws ArgumentError: simulated time passes 50 days, before sums of times could overflow.
[[noreturn]] void fail_too_long();

/// Of a time in picoseconds that is no whole number yet.
inline double within_limit(double picoseconds) {
  constexpr double limit = 4e18;
  if (picoseconds > limit) [[unlikely]]
    fail_too_long();
  return picoseconds;
}

/// A time as whole picoseconds, rounded up: nothing ends before it can. Arithmetic's errors on a whole number
/// do not count.
inline Picoseconds rounded_up(double picoseconds) {
  constexpr double most_error = 1e-14, least_error = 1e-6;
  const double time = within_limit(picoseconds);
  return static_cast<Picoseconds>(std::ceil(std::max(0.0, time * (1 - most_error) - least_error)));
}

inline Picoseconds within_limit(Picoseconds time) {
  constexpr Picoseconds limit = Picoseconds{1} << 62;
  if (time > limit) [[unlikely]]
    fail_too_long();
  return time;
}

}  // namespace hemiola::simulation
