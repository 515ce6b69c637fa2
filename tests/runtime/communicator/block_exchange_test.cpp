// SPDX-License-Identifier: Apache-2.0
// Exchanges of blocks of any sizes: the weights of the schedule's chunks say how long they are.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "communicator_users.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

using testing::Blocks, testing::on_users, testing::User;

/// By giver, then taker, in bytes.
using Table = std::vector<std::vector<std::int64_t>>;

const Table kTable = {{3, 0, 70'001, 2}, {0, 0, 0, 0}, {1, 100, 7, 5000}, {40'000, 1, 0, 64}};
const Table kEmpty(4, std::vector<std::int64_t>(4));

/// Every block in two chunks. The first one goes directly; the second by way of the rank behind the giver, unless that
/// one takes it.
std::shared_ptr<const Schedule> passed_on(const Table& table) {
  const auto ranks = static_cast<int>(table.size());
  ScheduleBuilder builder(Collective::make(CollectiveKind::all_to_all, ranks, 2 * ranks * ranks));
  std::vector<std::int64_t> weights;
  for (Rank src : indices<Rank>(ranks))
    for (Rank dst : indices<Rank>(ranks)) {
      const std::int64_t bytes = table[static_cast<std::size_t>(src)][static_cast<std::size_t>(dst)];
      const Chunk first{2 * (src * ranks + dst)}, second{first + 1};
      weights.insert(weights.end(), {bytes / 3, bytes - bytes / 3});
      const Rank relay{(src + 1) % ranks};
      if (src == dst) continue;
      builder.copy(Step{0}, src, dst, first);
      builder.copy(Step{0}, src, relay, second);
      if (relay != dst) builder.copy(Step{1}, relay, dst, second);
    }
  if (weights != std::vector<std::int64_t>(weights.size())) builder.set_chunk_weights(weights);
  return std::make_shared<const Schedule>(builder.finish());
}

/// Bytes that tell giver, taker and place.
std::vector<std::byte> block(std::size_t giver, std::size_t taker, std::int64_t bytes) {
  std::vector<std::byte> made(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < made.size(); ++i)
    made[i] = static_cast<std::byte>((i * i + 17 * giver + 5 * taker) % 251);
  return made;
}

Blocks given_by(std::size_t rank, const Table& table) {
  Blocks blocks;
  for (std::size_t to = 0; to < table.size(); ++to) blocks.push_back(block(rank, to, table[rank][to]));
  return blocks;
}

Blocks taken_by(std::size_t rank, const Table& table) {
  Blocks blocks;
  for (std::size_t of = 0; of < table.size(); ++of) blocks.push_back(block(of, rank, table[of][rank]));
  return blocks;
}

Blocks room_of(std::size_t rank, const Table& table) {
  Blocks blocks;
  for (const auto& of : table) blocks.emplace_back(static_cast<std::size_t>(of[rank]));
  return blocks;
}

void expect_exchange(User* user, const std::shared_ptr<const Schedule>& schedule, const Table& table) {
  const auto rank = static_cast<std::size_t>(user->rank());
  Blocks given = given_by(rank, table), taken = room_of(rank, table);
  user->comm().run(user->exchange(schedule, &given, &taken));
  EXPECT_EQ(taken, taken_by(rank, table));
  EXPECT_EQ(given, given_by(rank, table));
}

class BlocksOver : public testing::OverEachGround {};

TEST_P(BlocksOver, ArriveAlsoWhereRanksPassThemOn) {
  const auto schedule = passed_on(kTable);
  on_users(4, options(4), [&](User& user) {
    for (int round = 0; round < 3; ++round) expect_exchange(&user, schedule, kTable);
  });
}

TEST_P(BlocksOver, MayHaveOtherSizesInTheNextCall) {
  Table turned = kTable;
  for (std::size_t src = 0; src < 4; ++src)
    for (std::size_t dst = 0; dst < 4; ++dst) turned[src][dst] = kTable[dst][src] + static_cast<int>(src);
  const auto first = passed_on(kTable), second = passed_on(turned);
  on_users(4, options(4), [&](User& user) {
    expect_exchange(&user, first, kTable);
    expect_exchange(&user, second, turned);
    expect_exchange(&user, first, kTable);
  });
}

// Given a table of no bytes, and one in which a single block has a single one. Expect that both calls end.
TEST_P(BlocksOver, MayAllBeEmpty) {
  Table one = kEmpty;
  one[2][1] = 1;
  const auto schedule = passed_on(one);
  on_users(4, options(4), [&](User& user) { expect_exchange(&user, schedule, one); });
}

TEST_P(BlocksOver, OfAnotherLengthThanTheSchedulesAreAnErrorOnEveryRank) {
  const auto schedule = passed_on(kTable);
  on_users(4, options(4), [&](User& user) {
    const auto rank = static_cast<std::size_t>(user.rank());
    for (const bool is_input : {true, false}) {
      Blocks given = given_by(rank, kTable), taken = room_of(rank, kTable);
      if (rank == 2) (is_input ? given : taken)[3].emplace_back();
      const auto call = user.exchange(schedule, &given, &taken);
      if (rank == 2)
        EXPECT_THROW(user.comm().run(call), ArgumentError);
      else
        EXPECT_THROW(user.comm().run(call), MismatchError);
      if (rank != 2 || !is_input) {
        EXPECT_EQ(given, given_by(rank, kTable));
      }
    }
    expect_exchange(&user, schedule, kTable);
  });
}

// Given ranks of which one has a schedule for another table, in which its own blocks are as long. Expect that all hear of it.
TEST_P(BlocksOver, BySchedulesThatDifferAreAnErrorOnEveryRank) {
  Table other = kTable;
  other[2][3] += 1;
  const auto schedule = passed_on(kTable), different = passed_on(other);
  on_users(4, options(4), [&](User& user) {
    const auto rank = static_cast<std::size_t>(user.rank());
    Blocks given = given_by(rank, kTable), taken = room_of(rank, kTable);
    const auto call = user.exchange(rank == 0 ? different : schedule, &given, &taken);
    EXPECT_THROW(user.comm().run(call), MismatchError);
    EXPECT_EQ(given, given_by(rank, kTable));
    expect_exchange(&user, schedule, kTable);
  });
}

TEST_P(BlocksOver, NeedAScheduleOfAnAllToAll) {
  on_users(2, options(2), [&](User& user) {
    const auto ring = std::make_shared<const Schedule>(algorithms::all_reduce_ring(2));
    Blocks given(2), taken(2);
    EXPECT_THROW(user.comm().run(user.exchange(ring, &given, &taken)), ArgumentError);
  });
}

INSTANTIATE_TEST_SUITE_P(Grounds, BlocksOver, testing::kGrounds, testing::name_of);

}  // namespace
}  // namespace hemiola
