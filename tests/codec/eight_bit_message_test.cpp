// SPDX-License-Identifier: Apache-2.0
// Messages of eight bits an element: what a reader takes, and that damage is refused.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/codec/eight_bits.hpp"
#include "hemiola/codec/format.hpp"

namespace hemiola::codec {
namespace {

using Message = std::vector<std::byte>;

Message message_of(std::size_t elements) {
  std::vector<float> values(elements), rest(elements);
  for (std::size_t i = 0; i < elements; ++i) values[i] = static_cast<float>(i) - 300;
  Message message(eight_bit_bytes(elements));
  write_eight_bits(values.data(), rest.data(), elements, 1, message.data());
  return message;
}

TEST(EightBitMessage, IsRestoredWithinHalfAStep) {
  for (const std::size_t elements : {1, 255, 256, 257, 1000}) {
    const Message message = message_of(elements);
    std::vector<float> restored(elements, 1), added(elements, 1);
    ASSERT_TRUE(are_eight_bits(message));
    open_eight_bits(message, elements).restore(restored.data());
    open_eight_bits(message, elements).add(added.data());
    for (std::size_t i = 0; i < elements; ++i) {
      EXPECT_NEAR(restored[i], static_cast<float>(i) - 300, 700.0 / 254) << i;
      EXPECT_EQ(added[i], 1 + restored[i]) << i;
    }
  }
}

TEST(EightBitMessage, EveryLengthButItsOwnIsRefused) {
  const Message whole = message_of(300);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_THROW(open_eight_bits(std::span(whole).first(bytes), 300), FormatError) << bytes;
  Message longer = whole;
  longer.push_back(std::byte{0});
  EXPECT_THROW(open_eight_bits(longer, 300), FormatError);
  EXPECT_THROW(open_eight_bits(whole, 299), FormatError);
  EXPECT_THROW(open_eight_bits(whole, 301), FormatError);
}

TEST(EightBitMessage, EveryDamagedBitOfTheHeaderIsRefused) {
  const Message whole = message_of(300);
  for (std::size_t bit = 0; bit < 8 * kHeaderBytes; ++bit) {
    Message damaged = whole;
    damaged[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_THROW(open_eight_bits(damaged, 300), FormatError) << bit;
  }
}

TEST(EightBitMessage, AScaleThatNoWriterWritesIsRefused) {
  using Limits = std::numeric_limits<float>;
  const Message whole = message_of(600);
  for (const float scale : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), -1.0F, -0.0F,
                            Limits::denorm_min(), Limits::max(), std::nextafter(Limits::max() / 127, 1e38F)})
    for (std::size_t block = 0; block < 3; ++block) {
      Message damaged = whole;
      std::memcpy(&damaged[kHeaderBytes + block * sizeof scale], &scale, sizeof scale);
      EXPECT_THROW(open_eight_bits(damaged, 600), FormatError) << scale;
    }
}

TEST(EightBitMessage, RandomScalesAreRefusedOrRestoreNothingInfinite) {
  Random random(5);
  for (int round = 0; round < 20000; ++round) {
    Message damaged = message_of(256);
    const auto bits = static_cast<std::uint32_t>(random.below(1 << 16) << 16 | random.below(1 << 16));
    std::memcpy(&damaged[kHeaderBytes], &bits, sizeof bits);
    std::vector<float> restored(256);
    try {
      open_eight_bits(damaged, 256).restore(restored.data());
    } catch (const FormatError&) {
      continue;
    }
    for (const float value : restored) ASSERT_TRUE(std::isfinite(value)) << bits;
  }
}

}  // namespace
}  // namespace hemiola::codec
