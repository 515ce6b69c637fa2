// SPDX-License-Identifier: Apache-2.0
// How many ranks of each cluster have each chunk, and each cluster's chunks sorted by that, as bit sets: the rarest
// chunk of a set is found by looking at a few words.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "hemiola/base/random.hpp"
#include "hemiola/synthesis/flood/chunk_sets.hpp"

namespace hemiola::synthesis {

/// Level of a number of holders: exact up to 8, then eight levels for each doubling.
int rarity_level(std::uint32_t holders);

class Rarity {
 public:
  static constexpr std::uint32_t kNone = ~0u;

  /// `cluster_of` names each rank's cluster, 0 … cluster_count-1. At first nobody has anything.
  Rarity(const std::vector<int>& cluster_of, int cluster_count, int chunk_count);

  /// One more rank of the cluster has the chunk.
  void add(int cluster, std::uint32_t chunk);

  /// The chunks that no rank of the cluster has, and how many those are.
  const std::uint64_t* unknown(int cluster) const { return sets_[first_level(cluster)]; }
  std::int32_t unknown_count(int cluster) const {
    return population_[static_cast<std::size_t>(first_level(cluster))];
  }

  /// A chunk of the set whose words `word(0), word(1), …` computes that is on the cluster's lowest level, from a random
  /// place on; kNone if the set is empty.
  template <typename Word>
  std::uint32_t rarest(int cluster, Word word, Random* random) const;

 private:
  int first_level(int cluster) const { return cluster * level_count_; }
  std::uint32_t& holders(int cluster, std::uint32_t chunk) {
    return holders_[static_cast<std::size_t>(cluster) * chunk_count_ + chunk];
  }

  std::size_t chunk_count_;
  int level_count_;                       ///< per cluster
  std::vector<std::uint32_t> holders_;    ///< per cluster and chunk
  std::vector<std::int32_t> population_;  ///< per cluster and level, the number of chunks
  ChunkSets filled_;                      ///< per cluster, the levels with any
  ChunkSets sets_;                        ///< per cluster and level, the chunks
};

/// A chunk of the set, from a random place on; Rarity::kNone if it is empty.
template <typename Word>
std::uint32_t any_chunk(std::size_t words, Word word, std::uint64_t dice) {
  const auto first = static_cast<std::size_t>((dice >> 32) * words >> 32);
  for (std::size_t i = 0; i < words; ++i) {
    const std::size_t w = first + i < words ? first + i : first + i - words;
    const std::uint64_t bits = word(w);
    if (bits == 0) continue;
    const int turn = static_cast<int>(dice % 64);
    const int bit = (std::countr_zero(std::rotr(bits, turn)) + turn) % 64;
    return static_cast<std::uint32_t>(w * 64) + static_cast<std::uint32_t>(bit);
  }
  return Rarity::kNone;
}

template <typename Word>
std::uint32_t Rarity::rarest(int cluster, Word word, Random* random) const {
  const std::uint64_t dice = random->next();
  const std::uint64_t* filled = filled_[cluster];
  for (std::size_t at = 0; at < filled_.words(); ++at)
    for (std::uint64_t levels = filled[at]; levels != 0; levels &= levels - 1) {
      const std::uint64_t* set =
          sets_[first_level(cluster) + static_cast<int>(at * 64) + std::countr_zero(levels)];
      const std::uint32_t chunk =
          any_chunk(sets_.words(), [&](std::size_t w) { return set[w] & word(w); }, dice);
      if (chunk != kNone) return chunk;
    }
  return kNone;
}

}  // namespace hemiola::synthesis
