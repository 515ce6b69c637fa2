// SPDX-License-Identifier: Apache-2.0
// Whole messages: every format, element size, length and instruction set; sizes that are known before anything is written;
// every set writes the same bytes.
#include <gtest/gtest.h>

#include <cmath>

#include "hemiola/base/error.hpp"
#include "messages.hpp"
#include "sparse_bits.hpp"

namespace hemiola::codec_tests {
namespace {

constexpr std::size_t kLengths[] = {0,    1,    2,    63,   64,   65,    127,   128,   129,   200,
                                    4095, 4096, 4097, 8191, 8256, 65535, 65536, 65537, 70000, 131200};

TEST(Codec, EveryFormatKeepsEveryBitAtEveryLength) {
  Random random(1);
  for (const Kernels& kernels : all_kernels())
    for (const DType dtype : kOfWidth)
      for (const std::size_t length : kLengths)
        for (const double density : {0.0, 0.0003, 0.02, 0.3, 0.97, 1.0}) {
          const Bytes elements =
              sparse_array(random, length, element_bytes(dtype), density, length % 2 == 0 ? 1 : 20);
          for (const Format format : kFormats) {
            SCOPED_TRACE(std::string(kernels.name) + " " + std::string(name_of(dtype)) + " x " +
                         std::to_string(length) + ", density " + std::to_string(density) + ", " +
                         std::string(name_of(format)));
            const Bytes message = encoded(dtype, elements, format, kernels);
            ASSERT_EQ(decoded(message, dtype, length, kernels), elements);
          }
        }
}

TEST(Codec, EverySetWritesTheSameBytes) {
  Random random(2);
  for (const DType dtype : kOfWidth)
    for (const double density : {0.001, 0.05, 0.6, 0.99}) {
      const Bytes elements = sparse_array(random, 70001, element_bytes(dtype), density, 4);
      for (const Format format : kFormats)
        for (const Kernels& kernels : all_kernels())
          EXPECT_EQ(encoded(dtype, elements, format, kernels),
                    encoded(dtype, elements, format, all_kernels()[0]))
              << kernels.name << " " << name_of(format);
    }
}

TEST(Codec, AMessageIsAsLargeAsForetoldAndTheSmallestIsChosen) {
  Random random(3);
  for (const DType dtype : kOfWidth)
    for (const std::uint32_t run : {1u, 64u})
      for (const double density : {0.0, 0.0001, 0.01, 0.05, 0.2, 0.5, 0.9, 0.99, 1.0}) {
        const std::size_t count = 40000, width = element_bytes(dtype);
        const Bytes elements = sparse_array(random, count, width, density, run);
        Encoder encoder;
        Bytes room(room_for(dtype, count));
        encoder.scan(dtype, elements.data(), count, room);
        std::size_t least = capacity(dtype, count);
        for (const Format format : kFormats) {
          const std::size_t bytes = encoder.bytes_as(format);
          EXPECT_EQ(encoded(dtype, elements, format).size(), bytes) << name_of(format);
          if (format != Format::coo) least = std::min(least, bytes);
        }
        EXPECT_EQ(encoder.bytes_as(encoder.smallest()), least);
        EXPECT_EQ(encoder.nonzeros(), Reference(elements, width).count);
        const Bytes message = encoded(dtype, elements);
        EXPECT_EQ(message.size(), least);
        EXPECT_EQ(inspect(message).format, encoder.smallest());
      }
}

TEST(Codec, NobodyChoosesCooAndThatCostsAHandfulOfBytes) {
  for (const std::size_t nonzeros : {1u, 2u, 3u, 8u}) {
    Bytes elements(65536 * 4);
    for (std::size_t i = 0; i < nonzeros; ++i) elements[4 * (7 + 8000 * i)] = std::byte{1};
    Encoder encoder;
    Bytes room(room_for(DType::float32, 65536));
    encoder.scan(DType::float32, elements.data(), 65536, room);
    EXPECT_EQ(encoder.smallest(), Format::ef);
    EXPECT_EQ(encoder.fastest({}), Format::ef);
    EXPECT_LE(encoder.bytes_as(Format::ef), encoder.bytes_as(Format::coo) + 8);
  }
}

TEST(Codec, SizesAreThoseOfThePage) {
  // Given 8,192 float32 of which every 64th is not zero: n = 8192, m = 128, two tiles.
  Bytes elements(8192 * 4);
  for (std::size_t i = 0; i < 8192; i += 64) elements[4 * i] = std::byte{1};
  Encoder encoder;
  Bytes room(room_for(DType::float32, 8192));
  encoder.scan(DType::float32, elements.data(), 8192, room);
  const std::size_t values = 32 + 128 * 4;
  EXPECT_EQ(encoder.bytes_as(Format::dense), 32 + 8192 * 4u);
  EXPECT_EQ(encoder.bytes_as(Format::pici), values + 8192 / 8 + 2 * 4);
  EXPECT_EQ(encoder.bytes_as(Format::coo), values + 128 * 4);
  // l = log2(64) = 6: 128 * 6 low bits; 128 ones and 8191 >> 6 = 127 zeros, filled up to 256 bits; no ranks below 2^16.
  EXPECT_EQ(encoder.bytes_as(Format::ef), values + 96 + 32);
  // A word per tile, then 128 nonzero words with one nonzero byte each.
  EXPECT_EQ(encoder.bytes_as(Format::hier), values + 16 + 128 + 128);
}

TEST(Codec, EfIsNearTheEntropyOfRandomData) {
  Random random(4);
  const std::size_t count = 4 << 20;
  const auto over_limit = [&](double density) {
    const Bytes elements = sparse_array(random, count, 4, density);
    Encoder encoder;
    Bytes room(room_for(DType::float32, count));
    encoder.scan(DType::float32, elements.data(), count, room);
    const double d = static_cast<double>(encoder.nonzeros()) / count;
    const double entropy = -d * std::log2(d) - (1 - d) * std::log2(1 - d);
    return static_cast<double>(encoder.bytes_as(Format::ef)) * 8 / (count * (entropy + 32 * d));
  };
  EXPECT_LE(over_limit(0.05), 1.02);
  EXPECT_LE(over_limit(0.01), 1.02);
  EXPECT_LE(over_limit(0.001), 1.03);
}

TEST(Codec, EfOfTheZerosIsTakenWhereThereAreFew) {
  Random random(6);
  Bytes elements = sparse_array(random, 100000, 4, 1.0);
  for (std::size_t i = 0; i < 100000; i += 300) std::memset(elements.data() + 4 * i, 0, 4);
  const Bytes message = encoded(DType::float32, elements);
  EXPECT_EQ(inspect(message).format, Format::ef);
  EXPECT_TRUE(inspect(message).inverted);
  EXPECT_LT(message.size(), 32 + elements.size());
  EXPECT_EQ(decoded(message, DType::float32, 100000), elements);
}

TEST(Codec, OneEncoderAndOneDecoderTakeSliceAfterSlice) {
  Random random(7);
  Encoder encoder;
  Decoder decoder;
  const Bytes elements = sparse_array(random, 100000, 4, 0.03, 8);
  const std::size_t slices[] = {0, 5000, 5001, 70000, 70000, 99999, 100000};
  for (std::size_t s = 0; s + 1 < std::size(slices); ++s) {
    const std::size_t first = slices[s], count = slices[s + 1] - first;
    Bytes message(room_for(DType::float32, count));
    const std::byte* begin = elements.data() + 4 * first;
    message.resize(encode(encoder, DType::float32, begin, count, std::nullopt, message));
    EXPECT_LE(message.size(), capacity(DType::float32, count));
    Bytes out(count * 4);
    EXPECT_EQ(decoder.open(message, DType::float32, count).elements, count);
    decoder.decode(out.data());
    EXPECT_TRUE(std::equal(out.begin(), out.end(), begin));
  }
}

TEST(Codec, DecodingAroundTheCachesIsTheSame) {
  Random random(8);
  for (const Kernels& kernels : all_kernels())
    for (const DType dtype : kOfWidth)
      for (const std::size_t shift : {0, 1, 16}) {  // an output that begins at a multiple of 64, and others
        const std::size_t count = 10007, width = element_bytes(dtype);
        const Bytes elements = sparse_array(random, count, width, 0.04);
        const Bytes message = encoded(dtype, elements, Format::pici, kernels);
        Decoder decoder(kernels);
        decoder.open(message, dtype, count);
        Bytes memory(elements.size() + 256, std::byte{0xee});
        std::byte* out = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) + shift;
        decoder.decode(out, Destination::beyond_caches);
        EXPECT_TRUE(std::equal(elements.begin(), elements.end(), out)) << kernels.name;
        EXPECT_EQ(out[-1], std::byte{0xee});
        EXPECT_EQ(out[elements.size()], std::byte{0xee});
      }
}

TEST(Codec, ComplexNumbersOf16BytesAreTwoElementsEach) {
  Random random(9);
  const Bytes elements = sparse_array(random, 2 * 777, 8, 0.1);
  const Bytes message = encoded(DType::complex128, elements);
  EXPECT_EQ(inspect(message).elements, 2 * 777u);
  EXPECT_EQ(decoded(message, DType::complex128, 2 * 777), elements);
}

TEST(Codec, NamesGoBothWays) {
  for (const Format format : kFormats) EXPECT_EQ(format_named(name_of(format)), format);
  EXPECT_EQ(format_named("zip"), std::nullopt);
}

TEST(Codec, MoreElementsThanAMessageCanCountAreRefused) {
  Encoder encoder;
  EXPECT_THROW(encoder.scan(DType::uint8, nullptr, kMostElements + 1, {}), ArgumentError);
}

// The nonzero bytes of a bitmap of 4,096 elements are about 80 beside 41 positions of a byte and a half.
TEST(Codec, TheFastestFormatIsThatWhoseLongerTimeOfLinkAndCoresIsTheShortest) {
  Random random(3);
  const Bytes elements = sparse_array(random, 4096, 4, 0.01);
  Bytes message(room_for(DType::float32, 4096));
  Encoder encoder;
  encoder.scan(DType::float32, elements.data(), 4096, message);
  const auto hier = static_cast<double>(encoder.bytes_as(Format::hier)),
             ef = static_cast<double>(encoder.bytes_as(Format::ef)),
             positions = static_cast<double>(encoder.nonzeros());
  ASSERT_LT(ef, hier);
  ASSERT_LT(encoder.bytes_as(Format::hier), encoder.bytes_as(Format::pici));
  EXPECT_EQ(encoder.fastest({}), encoder.smallest());
  // While the link takes longer than the cores, fewer bytes are faster, ...
  EXPECT_EQ(encoder.fastest({.byte_s = 1, .position_s = 0.9 * ef / positions}), Format::ef);
  // ... also where cores take longer, but less than the link for the longer message; ...
  EXPECT_EQ(encoder.fastest({.byte_s = 1, .position_s = 0.9 * hier / positions}), Format::ef);
  // ... beyond that the shortest that has none.
  EXPECT_EQ(encoder.fastest({.byte_s = 1, .position_s = 1.1 * hier / positions}), Format::hier);
  // Where a bitmap takes cores longer than its bytes a link, positions cost time for nothing.
  EXPECT_EQ(encoder.fastest({.byte_s = 1, .plain_byte_s = 1, .position_s = 0.1}), Format::hier);
}

TEST(Codec, WhatIsDenseIsSentDenseWhateverItTakes) {
  const Bytes elements(4096 * 4, std::byte{1});
  Bytes message(room_for(DType::float32, 4096));
  Encoder encoder;
  encoder.scan(DType::float32, elements.data(), 4096, message);
  EXPECT_EQ(encoder.fastest({.byte_s = 0, .plain_byte_s = 1, .position_s = 1}), Format::dense);
}

}  // namespace
}  // namespace hemiola::codec_tests
