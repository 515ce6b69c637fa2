// SPDX-License-Identifier: Apache-2.0
// The readers under the sanitizers: what Hypothesis does to them from Python, with repaired checksums and hostile
// sizes. The seeds are fixed; `test_formats --gtest_filter='ScheduleForms.*' --gtest_shuffle --gtest_repeat=1000`
// takes others, and --gtest_random_seed replays the one that gtest prints.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/base/hash.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/schedule/file/binary_layout.hpp"
#include "hemiola/schedule/file/checksum.hpp"
#include "hemiola/schedule/file/schedule_file.hpp"
#include "hemiola/schedule/file/text.hpp"

namespace hemiola {
namespace {

using Bytes = std::vector<std::byte>;

/// Another one in every shuffled run.
Random seeded(std::uint64_t which) {
  return Random(which + 1000 * static_cast<std::uint64_t>(testing::UnitTest::GetInstance()->random_seed()));
}

/// One of each way to say who owns a chunk: listed, a promise of its own, a rule.
Collective some_collective(std::uint32_t which) {
  const std::vector<Rank> owners{Rank{2}, Rank{0}, Rank{3}};
  const std::vector<Collective::Place> before{{Rank{0}, Chunk{0}}, {Rank{2}, Chunk{1}}, {Rank{3}, Chunk{2}}},
      after{{Rank{1}, Chunk{1}}};
  switch (which % 3) {
    case 0:
      return Collective::with_owners(CollectiveKind::all_reduce, 4, owners);
    case 1:
      return Collective::custom(4, 3, before, after, true);
    default:
      return Collective::make(CollectiveKind::broadcast, 4, 3, Rank{3});
  }
}

Schedule sample(std::uint32_t which = 0) {
  ScheduleBuilder builder(some_collective(which));
  if (which % 2 == 0) builder.set_chunk_weights({3, 1, 4});
  Random random(1);
  for (int i = 0; i < 60; ++i) {
    const int src = static_cast<int>(random.below(4));
    builder.add({Step{random.below(9)}, Rank{src}, Rank{(src + 1 + static_cast<int>(random.below(3))) % 4},
                 Chunk{random.below(3)}, random.below(2) == 1});
  }
  return builder.finish();
}

Bytes to_bytes(const Schedule& schedule) {
  MemorySink sink;
  write_binary(schedule, &sink);
  return sink.bytes();
}

Schedule from_bytes(const Bytes& bytes) {
  return ScheduleFile(std::make_unique<MemorySource>(bytes, "bytes")).load();
}

/// A number on either side of what a reader's arithmetic can hold.
std::uint64_t hostile_number(Random* random) {
  constexpr std::uint32_t kBits[]{0, 7, 8, 16, 20, 24, 28, 31, 32, 62, 63};
  return (std::uint64_t{1} << kBits[random->below(std::size(kBits))]) + random->below(3) - 1;
}

/// Changes, drops or repeats a byte, cuts the end off, or puts a hostile number: 4 or 8 bytes, or digits.
template <typename Text>
void damage(Text* text, Random* random) {
  constexpr bool kIsBinary = std::is_same_v<Text, Bytes>;
  for (std::uint32_t n = random->below(3) + 1; n > 0 && !text->empty(); --n) {
    const std::size_t at = random->below(static_cast<std::uint32_t>(text->size()));
    const auto place = text->begin() + static_cast<std::ptrdiff_t>(at);
    switch (random->below(8)) {
      case 0:
      case 1:
        *place = static_cast<typename Text::value_type>(random->below(256));
        break;
      case 2:
        text->erase(place);
        break;
      case 3:
        text->insert(place, (*text)[random->below(static_cast<std::uint32_t>(text->size()))]);
        break;
      case 4:
        if (random->below(8) == 0) text->resize(at);
        break;
      default: {
        const std::uint64_t number = hostile_number(random);
        const std::string digits = std::to_string(number);
        const std::size_t width =
            std::min<std::size_t>(kIsBinary ? 4 + 4 * random->below(2) : digits.size(), text->size() - at);
        std::memcpy(&*place, kIsBinary ? static_cast<const void*>(&number) : digits.data(), width);
      }
    }
  }
}

/// Writes the checksums that the sections, as they are now, should have.
void repair_checksums(Bytes* bytes) {
  using namespace binary_layout;
  std::size_t at = kHeaderBytes;
  while (at + kSectionHeaderBytes + kTrailerBytes <= bytes->size()) {
    std::uint64_t length;
    std::memcpy(&length, bytes->data() + at, sizeof length);
    if (length > bytes->size() - at - kSectionHeaderBytes) return;
    const std::uint64_t sum = checksum(std::span(*bytes).subspan(at + kSectionHeaderBytes, length));
    std::memcpy(bytes->data() + at + sizeof length, &sum, sizeof sum);
    at += kSectionHeaderBytes + length;
  }
}

TEST(ScheduleForms, DamagedTextIsReadOrRefused) {
  Random random = seeded(2);
  int refused = 0;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    std::string text = write_text(sample(i));
    damage(&text, &random);
    try {
      const Schedule read = read_text(text);
      EXPECT_EQ(read_text(write_text(read)), read);
    } catch (const FormatError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(ScheduleForms, DamagedFilesWithRightChecksumsAreReadOrRefused) {
  Random random = seeded(3);
  int read_count = 0, refused = 0;
  for (std::uint32_t i = 0; i < 6000; ++i) {
    Bytes bytes = to_bytes(sample(i));
    damage(&bytes, &random);
    repair_checksums(&bytes);
    try {
      const Schedule read = from_bytes(bytes);
      EXPECT_EQ(from_bytes(to_bytes(read)), read);
      ++read_count;
    } catch (const FormatError&) {
      ++refused;
    }
  }
  EXPECT_GT(read_count, 100);
  EXPECT_GT(refused, 1000);
}

TEST(ScheduleWriter, RefusesStepsThatDescendAndPlacesThatDoNotExist) {
  MemorySink sink;
  ScheduleWriter writer(Collective::make(CollectiveKind::broadcast, 3, 2), {}, {}, &sink);
  writer.add({Step{4}, Rank{0}, Rank{1}, Chunk{0}, false});
  for (const Transfer& wrong :
       {Transfer{Step{3}, Rank{0}, Rank{2}, Chunk{0}, false},
        Transfer{Step{4}, Rank{0}, Rank{3}, Chunk{0}, false},
        Transfer{Step{4}, Rank{1}, Rank{1}, Chunk{0}, false},
        Transfer{Step{4}, Rank{0}, Rank{1}, Chunk{2}, false},
        Transfer{Step{ScheduleBuilder::kMaxSteps}, Rank{0}, Rank{1}, Chunk{0}, false}})
    EXPECT_THROW(writer.add(wrong), ArgumentError);
}

TEST(ScheduleWriter, WritesTransfersOfAStepInAnyOrder) {
  MemorySink sink;
  const Schedule schedule = sample();
  ScheduleWriter writer(schedule.collective(), schedule.chunk_weights(), {}, &sink);
  for (Step step : indices<Step>(schedule.step_count()))
    for (std::int64_t i = schedule.step_offset()[static_cast<std::size_t>(step) + 1];
         i-- > schedule.step_offset()[static_cast<std::size_t>(step)];)
      writer.add(schedule.transfer(step, i));
  writer.finish();
  EXPECT_EQ(from_bytes(sink.bytes()), schedule);
}

// Expected values from the reference implementation (xxhsum -H2).
TEST(Hasher, IsXxh3OfTheWordsThatItWasFed) {
  Hasher hasher;
  EXPECT_EQ(hasher.finish().hex(), "99aa06d3014798d86001c324468d497f");
  hasher.add(7);
  std::vector<std::int32_t> values(1000);
  std::iota(values.begin(), values.end(), 0);
  hasher.add_array(std::span<const std::int32_t>(values));
  EXPECT_EQ(hasher.finish().hex(), "427e58a5cfda88696c5130b0d90029c7");
}

TEST(Hasher, NeighbouringArraysCannotTradeElements) {
  const auto hash = [](std::vector<std::int32_t> a, std::vector<std::int32_t> b) {
    Hasher hasher;
    hasher.add_array(std::span<const std::int32_t>(a));
    hasher.add_array(std::span<const std::int32_t>(b));
    return hasher.finish();
  };
  EXPECT_EQ(hash({1, 2}, {3}), hash({1, 2}, {3}));
  EXPECT_NE(hash({1, 2}, {3}), hash({1}, {2, 3}));
  EXPECT_NE(hash({0}, {}), hash({}, {0}));
}

}  // namespace
}  // namespace hemiola
