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

}  // namespace
}  // namespace hemiola
