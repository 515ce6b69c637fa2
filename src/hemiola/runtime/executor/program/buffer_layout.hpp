// SPDX-License-Identifier: Apache-2.0
// Where the slots of one rank lie in the arrays that a user passes. A schedule speaks of chunks only; this says, for a
// kind of collective and a size, which bytes of the rank's input and output a chunk is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/schedule/collective.hpp"

namespace hemiola {

/// As a block's elements, of an all_to_all: each block has as many as the weights of its chunks add up to.
inline constexpr std::int64_t kBlocksByWeight = -1;

/// | kind                     | a block is         | input            | output           |
/// |--------------------------|--------------------|------------------|------------------|
/// | all_gather, gather       | a rank's input     | its own block    | blocks by owner  |
/// | reduce_scatter, scatter  | a rank's output    | blocks by owner  | its own block    |
/// | all_to_all               | from src to dst    | blocks by dst    | blocks by src    |
/// | all others               | the whole buffer   | the block        | the block        |
///
/// The chunks of a block lie in it in order, sized by their weights to the nearest element.
class BufferLayout {
 public:
  /// `block_sizes`, where blocks differ: the elements of each, instead of `block_elements`. In the order of owners; of an
  /// all_to_all by src, then dst.
  ///
  /// Throws ArgumentError when a block of more than 0 elements has no chunk (or only weightless ones).
  BufferLayout(const Collective& collective, std::span<const std::int64_t> chunk_weights,
               std::int64_t block_elements, int element_bytes,
               std::span<const std::int64_t> block_sizes = {});

  std::int64_t bytes_of(Chunk chunk) const { return places_[static_cast<std::size_t>(chunk)].bytes; }
  /// Only for chunks that are defined before (wanted after) on this rank.
  std::int64_t input_offset(Chunk chunk) const;
  std::int64_t output_offset(Chunk chunk) const;

  /// Where a rank's blocks begin, with an end mark.
  std::vector<std::int64_t> input_begins(Rank rank) const;
  std::vector<std::int64_t> output_begins(Rank rank) const;

 private:
  struct ChunkPlace {
    std::int64_t in_block;
    std::int64_t bytes;
  };
  std::size_t block_of(Chunk chunk) const;
  std::vector<std::int64_t> block_weights(std::span<const std::int64_t> chunk_weights) const;
  void place_chunks(std::span<const std::int64_t> chunk_weights, std::span<const std::int64_t> block_sizes,
                    int element_bytes);
  void place_blocks_between();
  void place_blocks_by_owner();
  std::int64_t bytes_between(int src, int dst) const;

  const Collective* collective_;
  std::int64_t block_bytes_;
  int input_blocks_ = 1;
  int output_blocks_ = 1;
  std::vector<ChunkPlace> places_;
  /// By block, which are by src, then dst, or by owner: its bytes, where it begins in the giver's input, and in the
  /// taker's output. Empty where all have one size.
  std::vector<std::int64_t> bytes_of_block_, input_begin_, output_begin_;
};

/// How many blocks of the collective's kind a rank's input (output) holds; see the table above.
int input_block_count(const Collective& collective);
int output_block_count(const Collective& collective);

}  // namespace hemiola
