// SPDX-License-Identifier: Apache-2.0
// Where blocks of any sizes lie in the arrays of a rank.
#include "hemiola/runtime/executor/program/buffer_layout.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace hemiola {
namespace {

// Given two ranks and blocks of two chunks each, of elements of 4 bytes:
//
//   from 0 to 0: 1 + 2    from 0 to 1: 0 + 5    from 1 to 0: 4 + 0    from 1 to 1: 0 + 0
//
// Derivation: rank 0 gives 3 and 5 elements, rank 1 gives 4 and none; rank 0 takes 3 and 4, rank 1 takes 5 and none.
TEST(BufferLayout, BlocksByWeightLieOneBehindTheOther) {
  const Collective collective = Collective::make(CollectiveKind::all_to_all, 2, 8);
  const std::vector<std::int64_t> weights = {1, 2, 0, 5, 4, 0, 0, 0};
  const BufferLayout layout(collective, weights, kBlocksByWeight, 4);
  using Offsets = std::vector<std::int64_t>;
  EXPECT_EQ(layout.input_begins(Rank{0}), (Offsets{0, 12, 32}));
  EXPECT_EQ(layout.input_begins(Rank{1}), (Offsets{0, 16, 16}));
  EXPECT_EQ(layout.output_begins(Rank{0}), (Offsets{0, 12, 28}));
  EXPECT_EQ(layout.output_begins(Rank{1}), (Offsets{0, 20, 20}));
  Offsets input, output, bytes;
  for (Chunk chunk : indices<Chunk>(8)) {
    input.push_back(layout.input_offset(chunk));
    output.push_back(layout.output_offset(chunk));
    bytes.push_back(layout.bytes_of(chunk));
  }
  EXPECT_EQ(bytes, (Offsets{4, 8, 0, 20, 16, 0, 0, 0}));
  EXPECT_EQ(input, (Offsets{0, 4, 12, 12, 0, 16, 16, 16}));
  EXPECT_EQ(output, (Offsets{0, 4, 0, 0, 12, 28, 20, 20}));
}

// Given three ranks whose blocks have 3, 0 and 5 elements of 4 bytes, in two chunks each, of which the second weighs twice
// as much. Derivation: the first chunks have 3 · 1/3, 0 and 5 · 1/3 elements, rounded down: 1, 0 and 1.
TEST(BufferLayout, BlocksByOwnerMayDiffer) {
  using Offsets = std::vector<std::int64_t>;
  const std::vector<std::int64_t> weights = {1, 2, 1, 2, 1, 2}, sizes = {3, 0, 5};
  const Offsets all = {0, 12, 12, 32}, in_whole = {0, 4, 12, 12, 12, 16}, in_block = {0, 4, 0, 0, 0, 4};
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
    const bool gathers = kind == CollectiveKind::all_gather;
    const Collective collective = Collective::make(kind, 3, 6);
    const BufferLayout layout(collective, weights, 0, 4, sizes);
    for (Rank rank : indices<Rank>(3)) {
      const Offsets own = {0, 4 * sizes[static_cast<std::size_t>(rank)]};
      EXPECT_EQ(layout.input_begins(rank), gathers ? own : all);
      EXPECT_EQ(layout.output_begins(rank), gathers ? all : own);
    }
    Offsets input, output, bytes;
    for (Chunk chunk : indices<Chunk>(6)) {
      input.push_back(layout.input_offset(chunk));
      output.push_back(layout.output_offset(chunk));
      bytes.push_back(layout.bytes_of(chunk));
    }
    EXPECT_EQ(bytes, (Offsets{4, 8, 0, 0, 4, 16}));
    EXPECT_EQ(input, gathers ? in_block : in_whole);
    EXPECT_EQ(output, gathers ? in_whole : in_block);
  }
}

}  // namespace
}  // namespace hemiola
