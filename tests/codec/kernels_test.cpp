// SPDX-License-Identifier: Apache-2.0
// Both primitives of every instruction set, bit for bit against the reference, with guards around what they may touch.
#include "hemiola/codec/kernels/kernels.hpp"

#include <gtest/gtest.h>

#include "sparse_bits.hpp"

namespace hemiola::codec {
namespace {

using namespace codec_tests;

constexpr std::byte kGuard{0xa5};
constexpr std::size_t kLine = 64;
constexpr double kDensities[] = {0, 0.0005, 0.01, 0.1, 0.5, 0.9, 0.999, 1};

void expect_compressed(const Kernels& kernels, std::size_t log, const Bytes& elements, std::size_t words) {
  const std::size_t width = std::size_t{1} << log;
  const Reference expected(elements, width);
  std::vector<std::uint64_t> bitmap(words + 1, 0x5a5a5a5a5a5a5a5a);
  Bytes values(elements.size() + kSlackBytes + 1, kGuard);
  const std::size_t count = kernels.compress[log](elements.data(), words, bitmap.data(), values.data());
  EXPECT_EQ(count, expected.count);
  EXPECT_EQ(bitmap[words], 0x5a5a5a5a5a5a5a5a);
  bitmap.pop_back();
  EXPECT_EQ(bitmap, expected.bitmap);
  EXPECT_EQ(0, std::memcmp(values.data(), expected.values.data(), expected.values.size()));
  for (std::size_t i = expected.values.size() + kSlackBytes; i < values.size(); ++i)
    ASSERT_EQ(values[i], kGuard);
}

/// `into_line`: where in a line of the cache the elements begin.
void expect_expanded(Expand expand, std::size_t log, const Bytes& elements, std::size_t words,
                     std::size_t into_line = 0) {
  const std::size_t width = std::size_t{1} << log;
  Reference packed(elements, width);
  packed.values.resize(packed.values.size() + kSlackBytes, kGuard);  // exactly what may be read
  Bytes memory(elements.size() + 3 * kLine, kGuard);
  const std::size_t start = kLine - reinterpret_cast<std::uintptr_t>(memory.data()) % kLine + into_line;
  EXPECT_EQ(expand(packed.values.data(), packed.bitmap.data(), words, memory.data() + start), packed.count);
  EXPECT_EQ(0, std::memcmp(memory.data() + start, elements.data(), elements.size()));
  EXPECT_EQ(memory[start - 1], kGuard);
  EXPECT_EQ(memory[start + elements.size()], kGuard);
}

TEST(CodecKernels, AllSetsGiveWhatTheReferenceGives) {
  Random random(12);
  for (const Kernels& kernels : all_kernels())
    for (std::size_t log = 0; log < 4; ++log)
      for (const double density : kDensities)
        for (const std::size_t words : {0, 1, 2, 7, 64, 65, 300}) {
          SCOPED_TRACE(std::string(kernels.name) + ", " + std::to_string(1 << log) + " bytes, density " +
                       std::to_string(density) + ", " + std::to_string(words) + " words");
          const Bytes elements = sparse_array(random, words * 64, std::size_t{1} << log, density);
          expect_compressed(kernels, log, elements, words);
          expect_expanded(kernels.expand[log], log, elements, words);
          for (const std::size_t into_line : {0, 1, 4, 16, 60})
            expect_expanded(kernels.stream[log], log, elements, words, into_line);
          if (HasFailure()) return;
        }
}

TEST(CodecKernels, EveryPatternOfEightNeighboursIsPackedAndSpread) {
  for (const Kernels& kernels : all_kernels())
    for (std::size_t log = 0; log < 4; ++log) {
      const std::size_t width = std::size_t{1} << log;
      Bytes elements(256 * 8 * width);
      for (std::size_t i = 0; i < 256 * 8; ++i)
        if (i / 8 >> i % 8 & 1) elements[i * width + i % width] = static_cast<std::byte>(i % 8 + 1);
      SCOPED_TRACE(std::string(kernels.name) + ", " + std::to_string(width) + " bytes");
      expect_compressed(kernels, log, elements, 32);
      expect_expanded(kernels.expand[log], log, elements, 32);
      expect_expanded(kernels.stream[log], log, elements, 32);
    }
}

TEST(CodecKernels, AllSetsCountAlike) {
  Random random(5);
  for (const double density : kDensities) {
    const Bytes elements = sparse_array(random, 64 * 100, 1, density, 3);
    const Reference reference(elements, 1);
    BitmapCount expected;
    for (const std::uint64_t word : reference.bitmap) {
      for (unsigned i = 0; i < 64; ++i) expected.bits += word >> i & 1;
      for (unsigned i = 0; i < 8; ++i) expected.bytes += (word >> 8 * i & 0xff) != 0;
      expected.words += word != 0;
    }
    for (const Kernels& kernels : all_kernels()) {
      EXPECT_EQ(kernels.count_bits(reference.bitmap.data(), 100), expected.bits) << kernels.name;
      EXPECT_EQ(kernels.count(reference.bitmap.data(), 100), expected) << kernels.name;
    }
  }
}

TEST(CodecKernels, TheBestSetIsTheLast) {
  EXPECT_EQ(best_kernels().name, all_kernels().back().name);
  EXPECT_EQ(all_kernels().front().name, "portable");
#if defined(__aarch64__)
  EXPECT_EQ(best_kernels().name, "neon");
#endif
}

}  // namespace
}  // namespace hemiola::codec
