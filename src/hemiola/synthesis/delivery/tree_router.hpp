// SPDX-License-Identifier: Apache-2.0
// Chooses the ways of chunks so that no link carries much more than others: every chunk in turn takes the cheapest way
// where links that are busy already count as long, and all of them choose again, several times.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "hemiola/base/forecast.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/synthesis/delivery/delivery.hpp"
#include "hemiola/synthesis/delivery/port_groups.hpp"

namespace hemiola::synthesis {

/// For each chunk, the channels that it takes: a tree from each rank that holds it, leading to every rank that wants it,
/// in an order in which each follows the one that brings its source the chunk.
using ChunkWays = std::vector<std::vector<std::uint32_t>>;

class TreeRouter {
 public:
  /// The delivery must be reachable, and must outlive the router.
  TreeRouter(const Delivery& delivery, std::uint64_t seed);

  /// How long rounds over all chunks take. Ways to one rank are found in the first: 405 million operations of it, and 10
  /// million of each later one, in a gather among 648 ranks.
  enum class Rounds { alike, first_is_longest };

  /// Cost: a few searches for cheapest ways per rank or chunk, whichever are more, of some looks at each rank and port;
  /// chunks with the same holders share searches as far as that does no harm.
  ChunkWays route(Rounds rounds = Rounds::alike);

 private:
  /// Chunks with the same holders that choose their ways together.
  using Batch = std::vector<std::uint32_t>;

  std::vector<Batch> batches();
  void choose_all_again(const std::vector<Batch>& all, const Forecast& forecast, double behind, double part);
  void choose_again(const Batch& batch);
  void search(const Batch& batch);
  void begin_search();
  std::size_t mark_wanted(const Batch& batch);
  std::vector<std::uint32_t> tree_to(const std::vector<Rank>& wanted);
  void load(const std::vector<std::uint32_t>& tree, int sign);
  double length(const Hop& hop) const;
  void go_through(std::uint32_t port, double distance);
  /// When the last chunk may be there: the busiest link's time and the longest way's. Overwrites `distance_`.
  double end_estimate();

  const Delivery& delivery_;
  const Channels& channels_;
  const PortGroups ports_;
  Random random_;
  ChunkWays trees_;
  std::vector<double> load_;                 ///< per link, the time that it is busy with what has chosen it
  double fair_load_ = 0;                     ///< what a link should carry
  std::vector<double> distance_;             ///< per rank, in the last search
  std::vector<std::uint32_t> came_through_;  ///< per rank, the channel of the cheapest way
  std::vector<double> arrival_;  ///< per group of ports, the least distance behind one of them in this search
  using Entry = std::pair<double, int>;
  std::vector<Entry> frontier_;  ///< a heap of distances and ranks
  std::vector<int> in_tree_;     ///< per rank, the number of the last tree that it was in
  int tree_number_ = 0;
  std::vector<std::uint64_t> wanted_in_;  ///< per rank, the number of the search that is to find a way to it
  std::uint64_t search_number_ = 0;
};

}  // namespace hemiola::synthesis
