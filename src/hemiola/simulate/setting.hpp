// Sizes and speeds of a simulation: what is known of each chunk, rank and link, whoever runs the transfers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/schedule/collective.hpp"
#include "hemiola/schedule/routes.hpp"
#include "hemiola/topology/conditions.hpp"
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

  const Topology& topology() const { return topology_; }
  /// A whole number, below 2^53.
  double bytes(std::uint32_t chunk) const { return chunk_bytes_[chunk]; }
  /// When a rank arrives; before that nothing leaves it and nothing lands.
  Picoseconds arrival(Rank rank) const { return arrival_[static_cast<std::size_t>(rank)]; }
  Picoseconds latency(int link) const { return latency_[static_cast<std::size_t>(link)]; }
  /// How long a message occupies a link beside its bytes, however slow the ranks that it joins.
  Picoseconds message(int link) const { return topology_.link(link).message; }
  /// Of one link, slowed down by the slower of the ranks it joins.
  double ps_per_byte(int link) const { return ps_per_byte_[static_cast<std::size_t>(link)]; }

 private:
  const Topology& topology_;
  std::vector<double> chunk_bytes_;
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

inline Picoseconds within_limit(Picoseconds time) {
  constexpr Picoseconds limit = Picoseconds{1} << 62;
  if (time > limit) [[unlikely]]
    fail_too_long();
  return time;
}

}  // namespace hemiola::simulation
