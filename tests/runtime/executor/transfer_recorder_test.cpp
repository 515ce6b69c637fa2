// SPDX-License-Identifier: Apache-2.0
// The times of messages: which are kept, by which names, and that results are those of the executor inside.
#include "hemiola/runtime/executor/transfer_recorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "engine_ranks.hpp"
#include "hemiola/algorithms/published/ring.hpp"
#include "hemiola/runtime/executor/program/compile.hpp"

namespace hemiola {
namespace {

using testing::Buffer;

constexpr int kRanks = 3;
constexpr std::int64_t kElements = 9;

CompileOptions naming(MessageRules rules = {}) {
  CompileOptions options;
  options.block_elements = kElements;
  options.element_bytes = sizeof(std::int64_t);
  options.in_place = true;
  options.rules = rules;
  options.names_transfers = true;
  return options;
}

/// What each rank's recorder has kept of so many all-reduces by a ring.
std::vector<std::vector<RecordedTransfer>> recorded(std::size_t kept, int operations) {
  std::vector<std::vector<RecordedTransfer>> found(kRanks);
  testing::on_ranks(kRanks, {}, [&](Rank rank, Wire* wire) {
    const Program program =
        compile(algorithms::all_reduce_ring(kRanks), rank, naming({.slice_bytes = 1 << 20}));
    TransferRecorder recorder(kept, nullptr);
    recorder.stand_around(std::make_unique<Engine>(wire, EngineOptions{.meter = &recorder}));
    testing::EverybodyIsWelcome supervisor;
    for (int k = 0; k < operations; ++k) {
      Buffer x(kElements, rank + 1);
      auto* const memory = reinterpret_cast<std::byte*>(x.data());
      recorder.begin_operation();
      recorder.execute(program, {.input = memory, .output = memory}, {.dtype = DType::int64, .op = Op::sum},
                       &supervisor);
      EXPECT_EQ(x, Buffer(kElements, 1 + 2 + 3));
    }
    found[static_cast<std::size_t>(rank)] = recorder.latest();
  });
  return found;
}

TEST(TransferRecorder, EveryMessageHasItsTransferAndTimesThatFollowEachOther) {
  const auto found = recorded(100, 1);
  const Schedule ring = algorithms::all_reduce_ring(kRanks);
  for (Rank rank : indices<Rank>(kRanks)) {
    const auto& rows = found[static_cast<std::size_t>(rank)];
    std::size_t sends = 0;
    for (const RecordedTransfer& row : rows) {
      EXPECT_EQ(row.operation, 0);
      EXPECT_EQ(row.bytes, static_cast<std::int64_t>(kElements / kRanks * sizeof(std::int64_t)));
      EXPECT_EQ(row.chunk_count, 1);
      EXPECT_EQ(row.reduce, row.step < kRanks - 1);
      EXPECT_GT(row.begin_ns, 0);
      EXPECT_GE(row.end_ns, row.begin_ns);
      sends += row.sending;
      const Rank src = row.sending ? rank : Rank{row.peer}, dst = row.sending ? Rank{row.peer} : rank;
      bool is_there = false;
      for (std::int64_t i = 0; i < ring.transfer_count(); ++i)
        is_there |= ring.pair_of(i).src == src && ring.pair_of(i).dst == dst &&
                    static_cast<int>(ring.chunk_of(i)) == row.chunk && ring.reduces(i) == (row.reduce != 0);
      EXPECT_TRUE(is_there) << "step " << row.step << ", chunk " << row.chunk;
    }
    EXPECT_EQ(sends, 2 * (kRanks - 1));
    EXPECT_EQ(rows.size(), 2 * sends);
  }
}

TEST(TransferRecorder, TheLatestMessagesAreKept) {
  const auto found = recorded(10, 3);  // of 8 messages in each of three operations
  for (const auto& rows : found) {
    ASSERT_EQ(rows.size(), 10U);
    EXPECT_EQ(rows.front().operation, 1);
    EXPECT_EQ(rows.back().operation, 2);
    EXPECT_TRUE(std::ranges::is_sorted(rows, {}, &RecordedTransfer::begin_ns));
  }
}

TEST(TransferRecorder, ChunksThatTravelTogetherHaveOneName) {
  ScheduleBuilder builder(
      Collective::with_owners(CollectiveKind::all_gather, 2, {Rank{0}, Rank{0}, Rank{1}}));
  builder.copy(Step{0}, Rank{0}, Rank{1}, Chunk{0});
  builder.copy(Step{0}, Rank{0}, Rank{1}, Chunk{1});
  builder.copy(Step{0}, Rank{1}, Rank{0}, Chunk{2});
  CompileOptions options = naming({.slice_bytes = 1 << 20, .join_bytes = 1 << 20});
  options.in_place = false;
  const Program program = compile(builder.finish(), Rank{0}, options);
  std::vector<CarriedTransfers> sent;
  for (std::size_t i = 0; i < program.tasks.size(); ++i)
    if (program.tasks[i].kind == TaskKind::send) sent.push_back(program.carried_transfers[i]);
  EXPECT_EQ(sent, std::vector<CarriedTransfers>(1, {.step = 0, .chunk = 0, .chunk_count = 2}));
}

TEST(TransferRecorder, ProgramsNameNothingWhereNobodyAsks) {
  CompileOptions options = naming();
  options.names_transfers = false;
  EXPECT_TRUE(compile(algorithms::all_reduce_ring(kRanks), Rank{0}, options).carried_transfers.empty());
}

}  // namespace
}  // namespace hemiola
