// SPDX-License-Identifier: Apache-2.0
// How much of the buffer each of several unequally fast participants owns, and how their sections are numbered.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hemiola/base/index.hpp"

namespace hemiola::algorithms {

/// Relative ownership for slowdown factors, one per participant, relative to the smallest: max(0, (2 - l) / l), as
/// integers in exact proportion where the factors are fractions with small terms (to 2^-40 otherwise).
std::vector<std::int64_t> ownership_weights(const std::vector<double>& factors);

/// The cost of a weighted exchange per segment.
struct ExchangeLoad {
  double time;  ///< of the busiest port, over that of the buffer through a port of factor 1
  int owners;   ///< how many participants own a section
};

/// A port of factor l owns a share w in proportion to max(0, 2/l - 1). It carries its sends of its own part,
/// 1 - w, and those of its results, (n - 1)·w; the slowest port sets the pace.
ExchangeLoad exchange_load(const std::vector<double>& factors);

/// The sum of max(0, (2 - l) / l) over the factors, relative to the smallest: how many healthy ports' worth the ports
/// have to spare.
double spare_ports(const std::vector<double>& factors);

/// One factor per participant from a mapping that names some; throws ArgumentError, naming `what`, for others.
std::vector<double> factors_of(const std::string& what, const std::map<int, double>& slow, int count);

/// The owners of the sections of each segment, in rank order; a participant of weight 0 owns none.
struct Sections {
  std::vector<Rank> owners;
  std::vector<std::int64_t> weight;  ///< per owner

  explicit Sections(const std::vector<std::int64_t>& weight_of_rank);
  bool owns(Rank rank) const { return place_[static_cast<std::size_t>(rank)] >= 0; }
  /// The index among the owners of a rank that owns a section.
  int index_of(Rank rank) const { return place_[static_cast<std::size_t>(rank)]; }
  int count() const { return static_cast<int>(owners.size()); }

 private:
  std::vector<int> place_;
};

/// Throws ArgumentError, naming `algorithm`, unless there are >= 2 participants with one finite factor >= 1 each and
/// segments in 1 … 2^20.
void check_slowdown(const std::string& algorithm, int count, const std::vector<double>& factors,
                    int segments);

}  // namespace hemiola::algorithms
