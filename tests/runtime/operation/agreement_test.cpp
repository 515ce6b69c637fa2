// SPDX-License-Identifier: Apache-2.0
// The tags by which ranks tell their operations apart.
#include "hemiola/runtime/operation/agreement.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace hemiola {
namespace {

/// Given statements in turn, each twice. Expect the digests of a rank that makes each of them for the first time.
TEST(Tags, DoNotDependOnEarlierOperations) {
  std::vector<Signature> statements(4);
  statements[1].element_count = 3;
  statements[2].op = Op::max;
  statements[3].schedule_digest = 1;
  Tags tags;
  std::uint64_t number = 0;
  for (int turn = 0; turn < 2; ++turn)
    for (const Signature& statement : statements)
      for (int call = 0; call < 2; ++call) {
        const OperationTag tag = tags.of(++number, statement);
        EXPECT_EQ(tag.operation, number);
        EXPECT_EQ(tag.digest, Tags().of(number, statement).digest);
      }
}

/// Ranks may cut as many elements into other shapes.
TEST(Tags, DifferWhereStatementsDo) {
  Signature one, other, cut;
  other.element_count = 1;
  cut.dimension_count = 2;
  Tags tags;
  EXPECT_NE(tags.of(0, one).digest, tags.of(0, other).digest);
  EXPECT_EQ(tags.of(0, one).digest, tags.of(0, cut).digest);
}

/// A rank whose block has no elements depends on nobody, and nobody on it.
TEST(Signature, OfBlocksOfWhichOneIsEmptyPromisesNothing) {
  Signature full, empty;
  full.kind = empty.kind = OperationKind::all_gather;
  full.set_blocks(std::vector<std::int64_t>{3, 1, 8});
  empty.set_blocks(std::vector<std::int64_t>{3, 0, 8, 1, 1, 1});
  EXPECT_TRUE(full.everybody_depends_on_everybody(3));
  EXPECT_FALSE(empty.everybody_depends_on_everybody(6));
  EXPECT_EQ(describe_array(full), "blocks of 3, 1, 8 elements of uint8");
  EXPECT_EQ(describe_array(empty), "blocks of 3, 0, 8, 1, 1, … elements of uint8");
  EXPECT_EQ(empty.element_count, 14);
}

}  // namespace
}  // namespace hemiola
