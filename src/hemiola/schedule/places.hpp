// SPDX-License-Identifier: Apache-2.0
// A collective's promise chunk by chunk: on which ranks a chunk's slots hold something before, and where it
// is wanted.
#pragma once

#include <span>
#include <vector>

#include "hemiola/schedule/collective.hpp"

namespace hemiola {

/// Lists the places of one chunk in time proportional to their number, which Collective's yes/no questions
/// cannot.
class Places {
 public:
  explicit Places(const Collective& collective);

  /// Ranks, ascending, whose slots hold a value (their own contribution, when reducing) before the first
  /// step.
  std::span<const Rank> defined(Chunk chunk) const;
  /// Ranks, ascending, whose slots must hold the result after the last step.
  std::span<const Rank> wanted(Chunk chunk) const;

 private:
  /// Ranks of chunk c are [offset[c], offset[c+1]); only for custom collectives.
  struct ByChunk {
    std::vector<std::int64_t> offset;
    std::vector<Rank> rank;
    std::span<const Rank> of(Chunk chunk) const;
  };
  static ByChunk index_by_chunk(const std::vector<Collective::Place>& places, int chunk_count);

  std::span<const Rank> one(Rank rank) const {
    return std::span(all_).subspan(static_cast<std::size_t>(rank), 1);
  }

  const Collective& collective_;
  std::vector<Rank> all_;
  ByChunk defined_, wanted_;
};

}  // namespace hemiola
