// SPDX-License-Identifier: Apache-2.0
// One value per rank and chunk.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hemiola/base/huge_pages.hpp"
#include "hemiola/base/index.hpp"

namespace hemiola::synthesis {

template <typename Value>
class RankChunkTable {
 public:
  RankChunkTable(int rank_count, int chunk_count, Value initial = Value{})
      : chunk_count_(static_cast<std::size_t>(chunk_count)),
        values_(static_cast<std::size_t>(rank_count) * chunk_count_, initial) {}
  Value& at(Rank rank, std::uint32_t chunk) {
    return values_[static_cast<std::size_t>(rank) * chunk_count_ + chunk];
  }

 private:
  std::size_t chunk_count_;
  LargeVector<Value> values_;
};

}  // namespace hemiola::synthesis
