// SPDX-License-Identifier: Apache-2.0
// The engine over a wire between threads: every schedule here must end with the values that the collective promises,
// whatever the wire's timing, and with equal bits on every run.
#include "hemiola/runtime/executor/host/engine.hpp"

#include <gtest/gtest.h>

#include "engine_ranks.hpp"
#include "hemiola/algorithms/published/ring.hpp"
#include "hemiola/runtime/executor/program/compile.hpp"

namespace hemiola {
namespace {

using testing::Buffer;
using testing::EverybodyIsWelcome;
using testing::InProcessOptions;
using testing::on_ranks;
using testing::value_of;

struct Setting {
  InProcessOptions wire;
  int groups_in_flight = 8;
  bool in_place = false;
  bool keep_inputs = true;
  bool land_at_once = false;
  bool coded = false;
  std::int64_t block_elements = 100;
  std::int64_t pack_bytes = 64;
};

void PrintTo(const Setting& s, std::ostream* out) {
  *out << (s.wire.rendezvous ? "rendezvous" : "eager") << ", slices of " << s.wire.slice_bytes << ", seed "
       << s.wire.seed << ", groups " << s.groups_in_flight << (s.in_place ? ", in place" : "")
       << (s.land_at_once ? ", landing at once" : "") << (s.coded ? ", coded" : "") << ", "
       << s.block_elements << " elements, packing " << s.pack_bytes;
}

constexpr std::int64_t kGuard = 0x5a5a5a5a5a5a5a5a;
constexpr std::size_t kGuardSize = 8;

CompileOptions compile_options(const Setting& setting) {
  CompileOptions options;
  options.block_elements = setting.block_elements;
  options.element_bytes = sizeof(std::int64_t);
  const auto slice_bytes = static_cast<std::int64_t>(setting.wire.slice_bytes);
  options.rules = {slice_bytes, slice_bytes, setting.pack_bytes};
  options.in_place = setting.in_place;
  options.keep_inputs = setting.keep_inputs;
  options.land_at_once = setting.land_at_once;
  options.coding = setting.coded ? Coding::fastest : Coding::none;
  return options;
}

/// Each rank's whole output after one run, guards checked. Inputs out of place are checked to be unchanged.
std::vector<Buffer> run_all(const Schedule& schedule, const Setting& setting) {
  std::vector<Buffer> outputs(static_cast<std::size_t>(schedule.rank_count()));
  on_ranks(schedule.rank_count(), setting.wire, [&](Rank rank, Wire* wire) {
    const Program program = compile(schedule, rank, compile_options(setting));
    const auto elements = [&](Region region) {
      return static_cast<std::size_t>(program.bytes[static_cast<int>(region)]) / sizeof(std::int64_t);
    };
    const std::size_t in_size = elements(Region::input), out_size = elements(Region::output);
    Buffer input(in_size), output(std::max(in_size, out_size) + 2 * kGuardSize, kGuard);
    for (std::size_t i = 0; i < in_size; ++i) input[i] = value_of(rank, static_cast<std::int64_t>(i));
    const Buffer before = input;
    std::int64_t* const out = output.data() + kGuardSize;
    // In place, the rank's own block lies in the larger of the two buffers.
    std::size_t in_at = 0, out_at = 0;
    if (setting.in_place && in_size < out_size) in_at = static_cast<std::size_t>(rank) * in_size;
    if (setting.in_place && out_size < in_size) out_at = static_cast<std::size_t>(rank) * out_size;
    if (setting.in_place) std::copy(input.begin(), input.end(), out + in_at);
    const std::int64_t* const in = setting.in_place ? out + in_at : input.data();
    EverybodyIsWelcome supervisor;
    Engine engine(wire, {.groups_in_flight = setting.groups_in_flight, .waiting = {50, 50, 50}});
    engine.execute(program,
                   {reinterpret_cast<const std::byte*>(in), reinterpret_cast<std::byte*>(out + out_at)},
                   {DType::int64, Op::sum, 1}, &supervisor);
    EXPECT_EQ(input, before);
    const std::size_t used = setting.in_place ? std::max(in_size, out_size) : out_size;
    for (std::size_t i = 0; i < kGuardSize; ++i) {
      EXPECT_EQ(output[i], kGuard);
      EXPECT_EQ(out[used + i], kGuard);
    }
    outputs[static_cast<std::size_t>(rank)].assign(out + out_at, out + out_at + out_size);
  });
  return outputs;
}

std::int64_t sum_over_ranks(int rank_count, std::int64_t element) {
  std::int64_t sum = 0;
  for (Rank rank : indices<Rank>(rank_count)) sum += value_of(rank, element);
  return sum;
}

void expect_all_reduced(const Schedule& schedule, const Setting& setting) {
  const std::vector<Buffer> outputs = run_all(schedule, setting);
  for (const Buffer& output : outputs) {
    ASSERT_EQ(output.size(), static_cast<std::size_t>(setting.block_elements));
    for (std::size_t i = 0; i < output.size(); ++i)
      ASSERT_EQ(output[i], sum_over_ranks(schedule.rank_count(), static_cast<std::int64_t>(i)))
          << "element " << i;
  }
}

/// Everybody sends everything to its partner in each round and adds what it gets: reads and writes of one slot in
/// one step.
Schedule recursive_doubling(int rank_count, int chunk_count) {
  ScheduleBuilder builder(
      Collective::with_owners(CollectiveKind::all_reduce, rank_count,
                              std::vector<Rank>(static_cast<std::size_t>(chunk_count), Rank{0})));
  int step = 0;
  for (int distance = 1; distance < rank_count; distance *= 2, ++step)
    for (Rank rank : indices<Rank>(rank_count))
      for (Chunk chunk : indices<Chunk>(chunk_count))
        builder.reduce(Step{step}, rank, Rank{rank ^ distance}, chunk);
  return builder.finish();
}

/// Each owner gets all parts in one step and sends the result to all in the next.
Schedule direct_all_reduce(int rank_count) {
  ScheduleBuilder builder(Collective::make(CollectiveKind::all_reduce, rank_count, rank_count));
  for (Rank src : indices<Rank>(rank_count))
    for (Rank dst : indices<Rank>(rank_count)) {
      if (src == dst) continue;
      builder.reduce(Step{0}, src, dst, Chunk{dst});
      builder.copy(Step{1}, src, dst, Chunk{src});
    }
  return builder.finish();
}

class EngineSettings : public ::testing::TestWithParam<Setting> {};

TEST_P(EngineSettings, AllReducesOverARing) {
  for (int ranks : {1, 2, 3, 5}) expect_all_reduced(algorithms::all_reduce_ring(ranks), GetParam());
}

TEST_P(EngineSettings, AllReducesByExchanges) {
  for (int ranks : {2, 4}) expect_all_reduced(recursive_doubling(ranks, 3), GetParam());
}

TEST_P(EngineSettings, AddsManyPartsInOneStep) {
  for (int ranks : {2, 3, 5}) expect_all_reduced(direct_all_reduce(ranks), GetParam());
}

TEST_P(EngineSettings, ReduceScattersOverARing) {
  for (int ranks : {1, 2, 3, 5}) {
    const std::vector<Buffer> outputs = run_all(algorithms::reduce_scatter_ring(ranks), GetParam());
    for (Rank rank : indices<Rank>(ranks))
      for (std::int64_t i = 0; i < GetParam().block_elements; ++i)
        ASSERT_EQ(outputs[static_cast<std::size_t>(rank)][static_cast<std::size_t>(i)],
                  sum_over_ranks(ranks, rank * GetParam().block_elements + i));
  }
}

TEST_P(EngineSettings, AllGathersOverARing) {
  for (int ranks : {1, 2, 3, 5}) {
    const std::int64_t block = GetParam().block_elements;
    for (const Buffer& output : run_all(algorithms::all_gather_ring(ranks), GetParam()))
      for (std::int64_t i = 0; i < ranks * block; ++i)
        ASSERT_EQ(output[static_cast<std::size_t>(i)], value_of(Rank{i / block}, i % block));
  }
}

/// All-to-all by a ring that passes on what is meant for ranks further along: relays hold what is not theirs.
TEST_P(EngineSettings, RelaysAnAllToAll) {
  const int ranks = 4;
  ScheduleBuilder builder(Collective::make(CollectiveKind::all_to_all, ranks, ranks * ranks));
  for (Rank src : indices<Rank>(ranks))
    for (int distance = 1; distance < ranks; ++distance)
      for (int hop = 0; hop < distance; ++hop)
        builder.copy(Step{hop}, Rank{(src + hop) % ranks}, Rank{(src + hop + 1) % ranks},
                     Chunk{src * ranks + (src + distance) % ranks});
  const std::int64_t block = GetParam().block_elements;
  const std::vector<Buffer> outputs = run_all(builder.finish(), GetParam());
  for (Rank dst : indices<Rank>(ranks))
    for (std::int64_t i = 0; i < ranks * block; ++i)
      ASSERT_EQ(outputs[static_cast<std::size_t>(dst)][static_cast<std::size_t>(i)],
                value_of(Rank{i / block}, dst * block + i % block));
}

TEST(Engine, RefusesBuffersInADevicesMemory) {
  on_ranks(1, {}, [](Rank rank, Wire* wire) {
    const Program program = compile(algorithms::all_reduce_ring(1), rank, compile_options({}));
    Buffer buffer(100, 7);
    auto* const bytes = reinterpret_cast<std::byte*>(buffer.data());
    EverybodyIsWelcome supervisor;
    Engine engine(wire, {});
    EXPECT_THROW(engine.execute(program, {.input = bytes, .output = bytes, .device = 0},
                                {DType::int64, Op::sum, 1}, &supervisor),
                 ArgumentError);
  });
}

constexpr InProcessOptions kEager{.rendezvous = false, .slice_bytes = 256, .seed = 1, .laziness = 3};
constexpr InProcessOptions kRendezvous{.rendezvous = true, .slice_bytes = 256, .seed = 2, .laziness = 3};
constexpr InProcessOptions kUnsliced{.rendezvous = true, .slice_bytes = 1 << 20, .seed = 3, .laziness = 3};

INSTANTIATE_TEST_SUITE_P(
    , EngineSettings,
    ::testing::Values(Setting{.wire = kEager}, Setting{.wire = kRendezvous}, Setting{.wire = kUnsliced},
                      Setting{.wire = kEager, .in_place = true},
                      Setting{.wire = kRendezvous, .in_place = true},
                      Setting{.wire = kUnsliced, .in_place = true, .keep_inputs = false},
                      Setting{
                          .wire = kRendezvous, .groups_in_flight = 1, .in_place = true, .land_at_once = true},
                      Setting{.wire = kUnsliced, .groups_in_flight = 1, .land_at_once = true},
                      Setting{.wire = kUnsliced, .pack_bytes = 1 << 20},
                      Setting{.wire = kRendezvous, .block_elements = 1000},
                      Setting{.wire = kRendezvous, .in_place = true, .block_elements = 1},
                      Setting{.wire = kEager, .block_elements = 0}, Setting{.wire = kEager, .coded = true},
                      Setting{.wire = kRendezvous, .in_place = true, .coded = true, .block_elements = 1000},
                      Setting{.wire = kUnsliced, .coded = true, .pack_bytes = 1 << 20}));

}  // namespace
}  // namespace hemiola
