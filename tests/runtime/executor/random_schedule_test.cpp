// SPDX-License-Identifier: Apache-2.0
// Random schedules that mean something, run by engines on threads: every wanted slot must hold what the meaning of
// a step (docs/decisions/0001-schedule.md) says, worked out here by a plain array of slots.
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "engine_ranks.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/runtime/executor/program/compile.hpp"

namespace hemiola {
namespace {

using testing::Buffer;
using testing::EverybodyIsWelcome;
using testing::InProcessOptions;
using testing::on_ranks;

/// Often zero, now here and there, now in a row.
std::int64_t value_of(Rank rank, std::int64_t element) {
  const bool is_zero = (rank + element / 16) % 3 == 0 || (rank * 7 + element) % 4 != 0;
  return is_zero ? 0 : testing::value_of(rank, element);
}

/// What every slot holds, by holder and chunk; empty: nothing. Holder r + k * rank_count is slot k of rank r; slot 0 is the
/// buffer's.
class Slots {
 public:
  Slots(int holder_count, int chunk_count, std::size_t elements)
      : chunk_count_(chunk_count),
        elements_(elements),
        values_(static_cast<std::size_t>(holder_count * chunk_count)) {}

  bool is_defined(Rank rank, Chunk chunk) const { return !at(rank, chunk).empty(); }
  const Buffer& at(Rank rank, Chunk chunk) const { return values_[index(rank, chunk)]; }
  void set(Rank rank, Chunk chunk, const Buffer& value) { values_[index(rank, chunk)] = value; }
  void bring_own(Rank rank, Chunk chunk) {
    Buffer& value = values_[index(rank, chunk)];
    for (std::size_t i = 0; i < elements_; ++i)
      value.push_back(
          value_of(rank, static_cast<std::int64_t>(static_cast<std::size_t>(chunk) * elements_ + i)));
  }
  void add(Rank rank, Chunk chunk, const Buffer& value) {
    for (std::size_t i = 0; i < elements_; ++i) values_[index(rank, chunk)][i] += value[i];
  }

 private:
  std::size_t index(Rank rank, Chunk chunk) const {
    return static_cast<std::size_t>(rank * chunk_count_ + chunk);
  }

  int chunk_count_;
  std::size_t elements_;
  std::vector<Buffer> values_;
};

/// A schedule, and what its slots hold in the end.
struct Sample {
  int rank_count, chunk_count, scratch_count;
  std::size_t elements;  ///< of a chunk
  std::vector<Collective::Place> before{}, after{};
  std::vector<Transfer> transfers{};
  Slots slots;

  Schedule schedule() const {
    ScheduleBuilder builder(Collective::custom(rank_count, chunk_count, before, after, /*reducing=*/true));
    for (const Transfer& t : transfers) builder.add(t);
    return builder.finish();
  }
};

/// Transfers of one step: all read what was there before it; a slot takes one copy or any number of reduces.
void add_step(Step step, Random* random, Sample* sample) {
  const Slots before = sample->slots;
  const int ranks = sample->rank_count, holders = ranks * (1 + sample->scratch_count);
  const auto below = [&](int bound) {
    return static_cast<int>(random->below(static_cast<std::uint32_t>(bound)));
  };
  std::set<std::tuple<Rank, Chunk>> copied, reduced;
  std::set<std::tuple<Rank, Rank, Chunk>> used;
  for (int tries = 2 * holders * sample->chunk_count; tries > 0; --tries) {
    const Rank src{below(holders)}, dst{below(holders)};
    const Chunk chunk{below(sample->chunk_count)};
    if (src == dst || !before.is_defined(src, chunk) || !used.insert({src, dst, chunk}).second) continue;
    const bool reduces = before.is_defined(dst, chunk) && below(3) != 0;
    if (copied.contains({dst, chunk}) || (!reduces && reduced.contains({dst, chunk}))) continue;
    (reduces ? reduced : copied).insert({dst, chunk});
    sample->transfers.push_back(
        {step, Rank{src % ranks}, Rank{dst % ranks}, chunk, reduces, src / ranks, dst / ranks});
    if (reduces)
      sample->slots.add(dst, chunk, before.at(src, chunk));
    else
      sample->slots.set(dst, chunk, before.at(src, chunk));
  }
}

Sample random_sample(Random* random) {
  const int ranks = 2 + static_cast<int>(random->below(4)), chunks = 1 + static_cast<int>(random->below(4));
  const int scratch = random->below(2) == 0 ? 0 : 1 + static_cast<int>(random->below(2));
  const std::size_t elements = 1 + random->below(90);
  Sample sample{.rank_count = ranks,
                .chunk_count = chunks,
                .scratch_count = scratch,
                .elements = elements,
                .slots = Slots(ranks * (1 + scratch), chunks, elements)};
  for (Rank rank : indices<Rank>(ranks))
    for (Chunk chunk : indices<Chunk>(chunks)) {
      if (rank != chunk % ranks && random->below(2) == 0) continue;
      sample.before.push_back({rank, chunk});
      sample.slots.bring_own(rank, chunk);
    }
  const int steps = static_cast<int>(random->below(7));
  for (Step step : indices<Step>(steps)) add_step(step, random, &sample);
  for (Rank rank : indices<Rank>(ranks))
    for (Chunk chunk : indices<Chunk>(chunks))
      if (sample.slots.is_defined(rank, chunk) && random->below(4) != 0)
        sample.after.push_back({rank, chunk});
  return sample;
}

struct Circumstances {
  InProcessOptions wire;
  bool in_place = false;
  bool land_at_once = false;
  bool coded = false;
  int groups_in_flight = 8;
};

Circumstances random_circumstances(Random* random) {
  Circumstances c;
  c.wire.rendezvous = random->below(2) == 0;
  c.wire.slice_bytes = std::size_t{64} << random->below(6);
  c.wire.seed = random->below(1000);
  c.wire.laziness = static_cast<int>(random->below(8));
  c.in_place = random->below(2) == 0;
  c.land_at_once = random->below(2) == 0;
  c.groups_in_flight = random->below(2) == 0 ? 1 : 8;
  c.coded = random->below(2) == 0;
  return c;
}

/// Runs one rank and returns its output.
Buffer run_rank(const Sample& sample, const Schedule& schedule, const Circumstances& c, Rank rank,
                Wire* wire) {
  CompileOptions options;
  options.block_elements = static_cast<std::int64_t>(sample.elements) * sample.chunk_count;
  options.element_bytes = sizeof(std::int64_t);
  const auto slice_bytes = static_cast<std::int64_t>(c.wire.slice_bytes);
  options.rules = {slice_bytes, slice_bytes, 64};
  options.in_place = c.in_place;
  options.land_at_once = c.land_at_once;
  options.coding = c.coded ? Coding::fastest : Coding::none;
  const Program program = compile(schedule, rank, options);
  Buffer input;
  for (std::int64_t i = 0; i < options.block_elements; ++i) input.push_back(value_of(rank, i));
  Buffer output = c.in_place ? input : Buffer(input.size());
  EverybodyIsWelcome supervisor;
  Engine engine(wire, {.groups_in_flight = c.groups_in_flight, .waiting = {50, 50, 50}});
  const Buffer& in = c.in_place ? output : input;
  engine.execute(program,
                 {reinterpret_cast<const std::byte*>(in.data()), reinterpret_cast<std::byte*>(output.data())},
                 {DType::int64, Op::sum, 1}, &supervisor);
  return output;
}

void expect_right_values(const Sample& sample, const Circumstances& c) {
  const Schedule schedule = sample.schedule();
  std::vector<Buffer> outputs(static_cast<std::size_t>(sample.rank_count));
  on_ranks(sample.rank_count, c.wire, [&](Rank rank, Wire* wire) {
    outputs[static_cast<std::size_t>(rank)] = run_rank(sample, schedule, c, rank, wire);
  });
  for (const auto& [rank, chunk] : sample.after) {
    const Buffer& output = outputs[static_cast<std::size_t>(rank)];
    const auto begin =
        output.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(chunk) * sample.elements);
    ASSERT_EQ(Buffer(begin, begin + static_cast<std::ptrdiff_t>(sample.elements)),
              sample.slots.at(rank, chunk))
        << "chunk " << chunk << " of rank " << rank;
  }
}

/// `test_runtime_executor --gtest_filter='RandomSchedules.*' --gtest_shuffle --gtest_repeat=100` takes other seeds.
TEST(RandomSchedules, LeaveWhatTheMeaningOfAStepSays) {
  const auto shuffled = static_cast<std::uint64_t>(::testing::UnitTest::GetInstance()->random_seed());
  for (std::uint64_t seed = 1000 * shuffled; seed < 1000 * shuffled + 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Sample sample = random_sample(&random);
    Circumstances circumstances = random_circumstances(&random);
    circumstances.coded &= sample.scratch_count == 0;  // coded programs take no scratch
    ASSERT_NO_FATAL_FAILURE(expect_right_values(sample, circumstances));
  }
}

}  // namespace
}  // namespace hemiola
