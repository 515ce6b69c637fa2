// Where the slots of one rank lie in the arrays that a user passes. A schedule speaks of chunks only; this says, for a
// kind of collective and a size, which bytes of the rank's input and output a chunk is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/schedule/collective.hpp"

namespace hemiola {

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
  /// Throws ArgumentError when a block of more than 0 elements has no chunk (or only weightless ones).
  BufferLayout(const Collective& collective, std::span<const std::int64_t> chunk_weights,
               std::int64_t block_elements, int element_bytes);

  std::int64_t bytes_of(Chunk chunk) const { return places_[static_cast<std::size_t>(chunk)].bytes; }
  /// Only for chunks that are defined before (wanted after) on this rank.
  std::int64_t input_offset(Chunk chunk) const;
  std::int64_t output_offset(Chunk chunk) const;

  std::int64_t block_bytes() const { return block_bytes_; }
  std::int64_t input_bytes() const { return block_bytes_ * input_blocks_; }
  std::int64_t output_bytes() const { return block_bytes_ * output_blocks_; }

 private:
  struct ChunkPlace {
    std::int64_t in_block;
    std::int64_t bytes;
  };
  std::size_t block_of(Chunk chunk) const;
  std::vector<std::int64_t> block_weights(std::span<const std::int64_t> chunk_weights) const;

  const Collective* collective_;
  std::int64_t block_bytes_;
  int input_blocks_ = 1;
  int output_blocks_ = 1;
  std::vector<ChunkPlace> places_;
};

/// How many blocks of the collective's kind a rank's input (output) holds; see the table above.
int input_block_count(const Collective& collective);
int output_block_count(const Collective& collective);

}  // namespace hemiola
