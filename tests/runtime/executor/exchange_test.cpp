// SPDX-License-Identifier: Apache-2.0
// Which programs are exchanges: of one message at most in each direction, whichever waits for the other.
#include "hemiola/runtime/executor/program/exchange.hpp"

#include <gtest/gtest.h>

#include "engine_ranks.hpp"
#include "hemiola/algorithms/published/ring.hpp"
#include "hemiola/runtime/executor/program/compile.hpp"

namespace hemiola {
namespace {

using Order = Exchange::Order;

CompileOptions options_of(std::int64_t elements, bool in_place) {
  CompileOptions options;
  options.block_elements = elements;
  options.element_bytes = 4;
  options.in_place = in_place;
  return options;
}

/// Both ranks send all they have to the other one in one step.
Schedule swap() {
  ScheduleBuilder builder(Collective::with_owners(CollectiveKind::all_reduce, 2, {Rank{0}}));
  builder.reduce(Step{0}, Rank{0}, Rank{1}, Chunk{0});
  builder.reduce(Step{0}, Rank{1}, Rank{0}, Chunk{0});
  return builder.finish();
}

/// Rank 0's array goes from rank to rank.
Schedule chain(int rank_count) {
  ScheduleBuilder builder(Collective::with_owners(CollectiveKind::broadcast, rank_count, {Rank{0}}));
  for (int rank = 1; rank < rank_count; ++rank)
    builder.copy(Step{rank - 1}, Rank{rank - 1}, Rank{rank}, Chunk{0});
  return builder.finish();
}

TEST(Exchange, OutOfPlaceTheTwoMessagesWaitForNothing) {
  const Program program = compile(swap(), Rank{0}, options_of(8, false));
  ASSERT_TRUE(program.exchange);
  EXPECT_EQ(program.tasks[static_cast<std::size_t>(program.exchange->send)].kind, TaskKind::send);
  EXPECT_EQ(program.tasks[static_cast<std::size_t>(program.exchange->receive)].kind, TaskKind::receive);
  EXPECT_EQ(program.exchange->order, Order::any);
}

TEST(Exchange, InPlaceTheMessageOutIsReadBeforeTheOtherOneLands) {
  const Program program = compile(swap(), Rank{0}, options_of(8, true));
  ASSERT_TRUE(program.exchange);
  const Task& receive = program.tasks[static_cast<std::size_t>(program.exchange->receive)];
  EXPECT_TRUE(program.exchange->order == Order::send_first || receive.save_count > 0);
}

TEST(Exchange, WhoPassesOnReceivesFirst) {
  const Program program = compile(chain(3), Rank{1}, options_of(8, true));
  ASSERT_TRUE(program.exchange);
  EXPECT_EQ(program.exchange->order, Order::receive_first);
}

TEST(Exchange, OneMessageAloneIsOne) {
  const auto first = compile(chain(2), Rank{0}, options_of(8, true)).exchange;
  const auto last = compile(chain(2), Rank{1}, options_of(8, true)).exchange;
  ASSERT_TRUE(first && last);
  EXPECT_GE(first->send, 0);
  EXPECT_EQ(first->receive, -1);
  EXPECT_EQ(last->send, -1);
  EXPECT_GE(last->receive, 0);
}

TEST(Exchange, MoreMessagesThanThatAreNone) {
  EXPECT_FALSE(compile(algorithms::all_reduce_ring(3), Rank{0}, options_of(9, true)).exchange);
}

/// Fails once a message has changed the first element.
class FailsOnceAMessageHasCome final : public testing::InProcessWire {
 public:
  FailsOnceAMessageHasCome(testing::Mailboxes mailboxes, const std::int64_t* first)
      : InProcessWire(std::move(mailboxes), Rank{0}, {}), first_(first), before_(*first) {}

  bool progress() override {
    const bool has_moved = InProcessWire::progress();
    if (*first_ != before_) throw LostRankError("rank 1 is gone");
    return has_moved;
  }

 private:
  const std::int64_t* first_;
  std::int64_t before_;
};

TEST(Exchange, AFailureOnceAMessageHasComeLeavesTheInputAsItWas) {
  CompileOptions options = options_of(256, true);
  options.element_bytes = sizeof(std::int64_t);
  const Program program = compile(swap(), Rank{0}, options);
  ASSERT_TRUE(program.exchange);
  testing::Buffer x(256, 1);
  const testing::Buffer others(256, 2);
  const auto mailboxes = testing::mailboxes_for(2);
  testing::InProcessWire other(mailboxes, Rank{1}, {});
  other.send(Rank{0}, reinterpret_cast<const std::byte*>(others.data()), 8 * others.size(), Source::settled);
  FailsOnceAMessageHasCome wire(mailboxes, x.data());
  Engine engine(&wire, {});
  testing::EverybodyIsWelcome supervisor;
  auto* const memory = reinterpret_cast<std::byte*>(x.data());
  engine.begin_operation();
  EXPECT_THROW(engine.execute(program, {.input = memory, .output = memory},
                              {.dtype = DType::int64, .op = Op::sum}, &supervisor),
               LostRankError);
  EXPECT_EQ(x, testing::Buffer(256, 3));
  engine.restore();
  EXPECT_EQ(x, testing::Buffer(256, 1));
}

}  // namespace
}  // namespace hemiola
