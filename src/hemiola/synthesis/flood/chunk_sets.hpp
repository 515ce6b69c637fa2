// SPDX-License-Identifier: Apache-2.0
// Sets of chunks as bits, one set per rank or cluster.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hemiola::synthesis {

inline bool contains(const std::uint64_t* set, std::uint32_t chunk) {
  return set[chunk / 64] >> (chunk % 64) & 1;
}
inline void insert(std::uint64_t* set, std::uint32_t chunk) {
  set[chunk / 64] |= std::uint64_t{1} << (chunk % 64);
}
inline void remove(std::uint64_t* set, std::uint32_t chunk) {
  set[chunk / 64] &= ~(std::uint64_t{1} << (chunk % 64));
}

class ChunkSets {
 public:
  ChunkSets(std::size_t set_count, int chunk_count)
      : words_((static_cast<std::size_t>(chunk_count) + 63) / 64), bits_(set_count * words_, 0) {}

  /// 64-bit words of one set.
  std::size_t words() const { return words_; }
  std::uint64_t* operator[](int set) { return bits_.data() + static_cast<std::size_t>(set) * words_; }
  const std::uint64_t* operator[](int set) const {
    return bits_.data() + static_cast<std::size_t>(set) * words_;
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace hemiola::synthesis
