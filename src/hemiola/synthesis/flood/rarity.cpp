// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/flood/rarity.hpp"

#include <algorithm>

namespace hemiola::synthesis {
namespace {

int largest_cluster(const std::vector<int>& cluster_of, int cluster_count) {
  std::vector<int> size(static_cast<std::size_t>(cluster_count), 0);
  for (const int cluster : cluster_of) ++size[static_cast<std::size_t>(cluster)];
  return *std::max_element(size.begin(), size.end());
}

}  // namespace

int rarity_level(std::uint32_t holders) {
  if (holders < 8) return static_cast<int>(holders);
  const int exponent = std::bit_width(holders) - 4;  // holders >> exponent is in 8 … 15
  return 8 * exponent + static_cast<int>(holders >> exponent);
}

Rarity::Rarity(const std::vector<int>& cluster_of, int cluster_count, int chunk_count)
    : chunk_count_(static_cast<std::size_t>(chunk_count)),
      level_count_(rarity_level(static_cast<std::uint32_t>(largest_cluster(cluster_of, cluster_count))) + 1),
      holders_(static_cast<std::size_t>(cluster_count) * chunk_count_, 0),
      population_(static_cast<std::size_t>(cluster_count * level_count_), 0),
      filled_(static_cast<std::size_t>(cluster_count), level_count_),
      sets_(population_.size(), chunk_count) {
  for (int cluster = 0; cluster < cluster_count; ++cluster) {
    population_[static_cast<std::size_t>(first_level(cluster))] = chunk_count;
    if (chunk_count > 0) insert(filled_[cluster], 0);
    for (std::uint32_t chunk = 0; chunk < chunk_count_; ++chunk) insert(sets_[first_level(cluster)], chunk);
  }
}

void Rarity::add(int cluster, std::uint32_t chunk) {
  std::uint32_t& count = holders(cluster, chunk);
  const int old_level = rarity_level(count), new_level = rarity_level(++count), first = first_level(cluster);
  if (new_level == old_level) return;
  remove(sets_[first + old_level], chunk);
  insert(sets_[first + new_level], chunk);
  if (--population_[static_cast<std::size_t>(first + old_level)] == 0)
    remove(filled_[cluster], static_cast<std::uint32_t>(old_level));
  if (++population_[static_cast<std::size_t>(first + new_level)] == 1)
    insert(filled_[cluster], static_cast<std::uint32_t>(new_level));
}

}  // namespace hemiola::synthesis
