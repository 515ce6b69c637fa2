// SPDX-License-Identifier: Apache-2.0
// A rank's program must not depend on whether its transfers were cut out of the whole schedule or made alone.
#include "hemiola/runtime/operation/program_source.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "hemiola/algorithms/published/all_to_all.hpp"
#include "hemiola/algorithms/published/direct.hpp"
#include "hemiola/algorithms/published/ring.hpp"
#include "hemiola/algorithms/slow/weighted_exchange.hpp"

namespace hemiola {
namespace {

std::vector<double> one_slow(int rank_count, double factor) {
  std::vector<double> slowdown(static_cast<std::size_t>(rank_count), 1.0);
  slowdown[1] = factor;
  return slowdown;
}

CompileOptions options_for(std::int64_t elements, bool emulated, bool in_place) {
  CompileOptions options;
  options.block_elements = elements;
  options.element_bytes = 4;
  options.in_place = in_place;
  options.rules.slice_bytes = 1 << 10;
  if (emulated) {
    options.land_at_once = true;
    options.rules.join_bytes = options.rules.pack_bytes = 0;
  }
  return options;
}

TEST(ProgramSource, ARanksProgramIsTheSameFromItsPartAsFromTheWholeSchedule) {
  for (const int ranks : {2, 3, 5, 8})
    for (const double factor : {1.0, 1.5, 2.0, 3.0})
      for (const int segments : {1, 3}) {
        const auto slowdown = one_slow(ranks, factor);
        const ProgramSource whole(std::make_shared<const Schedule>(
            algorithms::all_reduce_weighted_exchange(ranks, slowdown, segments)));
        const ProgramSource parts(std::make_shared<const ScheduleParts>(
            algorithms::all_reduce_weighted_exchange_parts(ranks, slowdown, segments)));
        EXPECT_EQ(whole.collective(), parts.collective());
        for (Rank rank : indices<Rank>(ranks))
          for (const std::int64_t elements : {0, 7, 1000, 40000})  // none, less than chunks, one slice, many
            for (const bool emulated : {false, true})
              for (const bool in_place : {false, true}) {
                const auto options = options_for(elements, emulated, in_place);
                EXPECT_EQ(whole.compile(rank, options), parts.compile(rank, options))
                    << ranks << " ranks, factor " << factor << ", " << segments << " segments, rank " << rank;
              }
      }
}

TEST(ProgramSource, AThousandRanksHaveTheSameProgramsToo) {
  const auto slowdown = one_slow(1024, 2.0);
  const ProgramSource whole(
      std::make_shared<const Schedule>(algorithms::all_reduce_weighted_exchange(1024, slowdown, 1)));
  const ProgramSource parts(std::make_shared<const ScheduleParts>(
      algorithms::all_reduce_weighted_exchange_parts(1024, slowdown, 1)));
  for (const int rank : {0, 1, 2, 1023}) {
    const auto options = options_for(1 << 24, false, true);
    EXPECT_EQ(whole.compile(Rank{rank}, options), parts.compile(Rank{rank}, options)) << "rank " << rank;
  }
}

/// Given a wire for which what nobody passes on or adds to may travel whole. Expect one message a chunk there, slices
/// elsewhere, on every rank.
TEST(ProgramSource, OnlyWhatComesToRestTravelsWhole) {
  const auto messages = [](const Schedule& schedule, Rank rank) {
    CompileOptions options = options_for(4 << 10, false, false);
    options.rules.resting_bytes = 1 << 20;
    const Program program = ProgramSource(std::make_shared<const Schedule>(schedule)).compile(rank, options);
    std::size_t count = 0;
    for (const Lane& lane : program.lanes) count += lane.tasks.size();
    return count;
  };
  for (Rank rank : indices<Rank>(4)) {
    EXPECT_EQ(messages(algorithms::all_to_all_pairwise(4), rank), 6) << "three out, three in";
    EXPECT_EQ(messages(algorithms::all_gather_direct(4), rank), 6);
    EXPECT_EQ(messages(algorithms::all_gather_ring(4), rank), 6 * 16) << "passed on";
  }
  for (Rank rank : indices<Rank>(2))
    EXPECT_GT(messages(algorithms::all_reduce_direct(2), rank), 16) << "added";
}

TEST(ProgramSource, DifferentSchedulesHaveDifferentDigests) {
  const auto digest = [](int ranks, double factor, int segments) {
    return ProgramSource(std::make_shared<const ScheduleParts>(algorithms::all_reduce_weighted_exchange_parts(
                             ranks, one_slow(ranks, factor), segments)))
        .digest();
  };
  EXPECT_EQ(digest(8, 1.5, 2), digest(8, 1.5, 2));
  EXPECT_NE(digest(8, 1.5, 2), digest(8, 1.5, 3));
  EXPECT_NE(digest(8, 1.5, 2), digest(8, 1.25, 2));
  EXPECT_NE(digest(8, 1.5, 2), digest(9, 1.5, 2));
}

TEST(ProgramSource, APartOfARankThatDoesNotExistIsRefused) {
  const ScheduleParts parts = algorithms::all_reduce_weighted_exchange_parts(4, one_slow(4, 2.0), 1);
  EXPECT_THROW(parts.part(Rank{4}), std::exception);
  EXPECT_THROW(parts.part(Rank{-1}), std::exception);
}

}  // namespace
}  // namespace hemiola
