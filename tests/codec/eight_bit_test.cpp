// SPDX-License-Identifier: Apache-2.0
// Eight-bit blocks: every instruction set's bits against a plain reference, and the values at the ends of float32.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "hemiola/base/random.hpp"
#include "hemiola/codec/kernels/kernels.hpp"

namespace hemiola::codec {
namespace {

using Limits = std::numeric_limits<float>;
using Floats = std::vector<float>;

struct Blocks {
  Floats rest, scales;
  std::vector<std::int8_t> codes;
};

Blocks quantized(const Kernels& kernels, const Floats& values, Floats rest, float factor = 1) {
  Blocks made{std::move(rest), Floats((values.size() + kBlockElements - 1) / kBlockElements + 1, 77),
              std::vector<std::int8_t>(values.size() + 1, 55)};
  kernels.quantize(values.data(), made.rest.data(), values.size(), factor, made.scales.data(),
                   made.codes.data());
  EXPECT_EQ(made.scales.back(), 77) << "beyond the scales";
  EXPECT_EQ(made.codes.back(), 55) << "beyond the codes";
  made.scales.pop_back();
  made.codes.pop_back();
  return made;
}

Blocks quantized(const Floats& values) {
  return quantized(best_kernels(), values, Floats(values.size()));
}

/// The documented rule, an element at a time.
Blocks reference(const Floats& values, Floats rest, float factor) {
  Blocks made{std::move(rest), {}, std::vector<std::int8_t>(values.size())};
  for (std::size_t begin = 0; begin < values.size(); begin += kBlockElements) {
    const std::size_t end = std::min(values.size(), begin + kBlockElements);
    float most = 0;
    bool is_finite = true;
    for (std::size_t i = begin; i < end; ++i) {
      made.rest[i] = values[i] + made.rest[i] * factor;
      is_finite = is_finite && std::isfinite(made.rest[i]);
      most = std::fmax(most, std::fabs(made.rest[i]));
    }
    const float exact = most / 127, step = std::isfinite(exact * 127) ? exact : std::nextafter(exact, 0.0F);
    const bool is_sent = is_finite && step >= Limits::min();
    made.scales.push_back(is_sent ? step : is_finite ? 0 : kEveryBit);
    for (std::size_t i = begin; i < end; ++i) {
      const float inverse = 1 / step;
      const float code = is_sent ? std::nearbyint(made.rest[i] * inverse) : 0;
      made.codes[i] = static_cast<std::int8_t>(code);
      made.rest[i] = !is_finite ? 0 : (is_sent ? made.rest[i] - code * step : made.rest[i]) / factor;
    }
  }
  return made;
}

void expect_same_bits(const Floats& found, const Floats& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(found[i]), std::bit_cast<std::uint32_t>(expected[i])) << i;
}

/// Of magnitudes from the least to the largest; one block in four has something odd.
Floats odd_values(Random& random, std::size_t count) {
  constexpr float kOdd[] = {Limits::infinity(),   -Limits::infinity(), Limits::quiet_NaN(), -0.0F,
                            Limits::denorm_min(), Limits::min(),       Limits::max(),       -Limits::max()};
  Floats values(count);
  float size = 1;
  bool is_odd = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % kBlockElements == 0) {
      size = std::ldexp(1.0F, static_cast<int>(random.below(270)) - 145);
      is_odd = random.below(4) == 0;
    }
    values[i] = size * (static_cast<float>(random.below(1 << 16)) / 32768 - 1);
    if (is_odd && random.below(64) == 0) values[i] = kOdd[random.below(8)];
  }
  return values;
}

void expect_restored(const Kernels& kernels, const Blocks& found, const Floats& before, bool adds) {
  const std::size_t count = before.size();
  Floats restored = before, plain = before;
  restored.push_back(3);
  (adds ? kernels.add_restored : kernels.restore)(found.scales.data(), found.codes.data(), count, 0.5F,
                                                  restored.data());
  EXPECT_EQ(restored.back(), 3);
  restored.pop_back();
  for (std::size_t i = 0; i < count; ++i) {
    const float step = found.scales[i / kBlockElements] * 0.5F, value = found.codes[i] * step;
    plain[i] = std::isnan(step) ? kEveryBit : adds ? plain[i] + value : value;
  }
  expect_same_bits(restored, plain);
}

TEST(EightBits, AllSetsGiveTheBitsOfTheReference) {
  Random random(41);
  for (const std::size_t count : {0, 1, 7, 255, 256, 257, 511, 512, 40 * 256 + 3})
    for (const float factor : {1.0F, 0.125F}) {
      const Floats values = odd_values(random, count);
      Floats rest = odd_values(random, count);
      for (float& one : rest)
        if (!std::isfinite(one)) one = 0;
      const Blocks expected = reference(values, rest, factor);
      for (const Kernels& kernels : all_kernels()) {
        SCOPED_TRACE(std::string(kernels.name) + ", " + std::to_string(count));
        const Blocks found = quantized(kernels, values, rest, factor);
        expect_same_bits(found.rest, expected.rest);
        expect_same_bits(found.scales, expected.scales);
        EXPECT_EQ(found.codes, expected.codes);
        for (const bool adds : {false, true}) expect_restored(kernels, found, rest, adds);
        if (HasFailure()) return;
      }
    }
}

TEST(EightBits, EveryCodeIsRestoredAndNothingIsLeft) {
  Floats values;
  for (int code = -127; code <= 127; ++code) values.push_back(static_cast<float>(code) * 0.25F);
  const Blocks found = quantized(values);
  EXPECT_EQ(found.scales, Floats{0.25F});
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(found.codes[i], static_cast<int>(i) - 127);
  EXPECT_EQ(found.rest, Floats(values.size()));
}

TEST(EightBits, AHalfGoesToTheEvenCode) {
  const Blocks found = quantized({127, 0.5F, 1.5F, -0.5F, -1.5F, 2.5F});
  EXPECT_EQ(found.codes, (std::vector<std::int8_t>{127, 0, 2, 0, -2, 2}));
  EXPECT_EQ(found.rest, (Floats{0, 0.5F, -0.5F, -0.5F, 0.5F, 0.5F}));
}

TEST(EightBits, ABlockBelowTheLeastScaleWaitsInTheRest) {
  const float small = 126 * Limits::min();
  const Blocks found = quantized({small, -Limits::denorm_min(), 0});
  EXPECT_EQ(found.scales, Floats{0});
  EXPECT_EQ(found.codes, (std::vector<std::int8_t>(3)));
  EXPECT_EQ(found.rest, (Floats{small, -Limits::denorm_min(), 0}));
}

TEST(EightBits, AnInfinityMakesItsBlockNaNAndNoOtherAndLeavesNoRest) {
  Floats values(2 * kBlockElements, 1);
  values[3] = -Limits::infinity();
  const Blocks found = quantized(values);
  EXPECT_TRUE(std::isnan(found.scales[0]));
  EXPECT_EQ(found.scales[1], 1.0F / 127);
  EXPECT_EQ(found.rest[3], 0);
  EXPECT_EQ(found.rest[4], 0);
}

TEST(EightBits, TheLargestFloatIsSentWithoutOverflow) {
  const Blocks found = quantized({Limits::max(), -Limits::max()});
  EXPECT_EQ(found.codes, (std::vector<std::int8_t>{127, -127}));
  Floats restored(2);
  best_kernels().restore(found.scales.data(), found.codes.data(), 2, 1, restored.data());
  EXPECT_TRUE(std::isfinite(restored[0]));
}

}  // namespace
}  // namespace hemiola::codec
