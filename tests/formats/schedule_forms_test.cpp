// The readers under the sanitizers: what Hypothesis does to them from Python, with a fixed seed and repaired checksums.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/schedule/binary_layout.hpp"
#include "hemiola/schedule/schedule_file.hpp"
#include "hemiola/schedule/text.hpp"

namespace hemiola {
namespace {

using Bytes = std::vector<std::byte>;

Schedule sample() {
  ScheduleBuilder builder(
      Collective::with_owners(CollectiveKind::all_reduce, 4, {Rank{2}, Rank{0}, Rank{3}}));
  builder.set_chunk_weights({3, 1, 4});
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

template <typename Text>
void damage(Text* text, Random* random) {
  for (std::uint32_t n = random->below(3) + 1; n > 0 && !text->empty(); --n) {
    const std::size_t at = random->below(static_cast<std::uint32_t>(text->size()));
    switch (random->below(3)) {
      case 0:
        (*text)[at] = static_cast<typename Text::value_type>(random->below(256));
        break;
      case 1:
        text->erase(text->begin() + static_cast<std::ptrdiff_t>(at));
        break;
      default:
        text->insert(text->begin() + static_cast<std::ptrdiff_t>(at),
                     (*text)[random->below(static_cast<std::uint32_t>(text->size()))]);
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
  Random random(2);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = write_text(sample());
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
  Random random(3);
  int read_count = 0, refused = 0;
  for (int i = 0; i < 6000; ++i) {
    Bytes bytes = to_bytes(sample());
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
