// Adding messages to an accumulator: by every element it is what a dense message does, bit for bit; leaving out zeros is
// the same where the rule allows it, and only there.
#include "hemiola/runtime/executor/host/combine.hpp"

#include <gtest/gtest.h>

#include <array>

#include "hemiola/codec/clean.hpp"
#include "messages.hpp"
#include "sparse_bits.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace hemiola::codec_tests {
namespace {

constexpr std::size_t kCount = 3000;  // of a dtype: no multiple of a word

Bytes random_elements(Random& random, DType dtype, double density) {
  const std::size_t each = elements_per(dtype);
  const std::size_t width = is_complex(dtype) ? bytes_of(dtype) / 2 : element_bytes(dtype);
  Bytes bytes = sparse_array(random, kCount * each * element_bytes(dtype) / width, width, density, 5);
  if (dtype == DType::boolean)
    for (std::byte& b : bytes) b &= std::byte{1};
  return bytes;
}

/// Calls visit(dtype, op) for all that have a meaning.
template <typename Visit>
void each_operation(Visit visit) {
  for (std::size_t d = 0; d < kDTypeNames.size(); ++d)
    for (std::size_t o = 0; o < kOpNames.size(); ++o) {
      const auto dtype = static_cast<DType>(d);
      const auto op = static_cast<Op>(o);
      if (!is_defined(op, dtype)) continue;
      SCOPED_TRACE(std::string(name_of(dtype)) + " " + std::string(name_of(op)));
      visit(dtype, op);
    }
}

TEST(CodecCombine, EveryElementIsCombinedAsADenseMessageWould) {
  Random random(21);
  each_operation([&](DType dtype, Op op) {
    for (const double density : {0.0, 0.01, 0.5, 1.0})
      for (const Format format : kFormats)
        for (const Kernels& kernels : all_kernels()) {
          const Bytes accumulator = random_elements(random, dtype, 0.7);
          const Bytes elements = random_elements(random, dtype, density);
          Bytes expected = accumulator, found = accumulator;
          const Combine combine = combine_for(dtype, op);
          combine(expected.data(), expected.data(), elements.data(), elements.size());
          const Bytes message = encoded(dtype, elements, format, kernels);
          Decoder decoder(kernels);
          decoder.open(message, dtype, kCount * elements_per(dtype));
          decoder.combine(op, combine, found.data());
          ASSERT_EQ(found, expected) << kernels.name << ", " << name_of(format) << ", density " << density;
        }
  });
}

TEST(CodecCombine, LeavingOutZerosIsTheSameWhereTheRuleAllowsIt) {
  Random random(22);
  int allowed = 0, differed = 0;
  each_operation([&](DType dtype, Op op) {
    for (int round = 0; round < 40; ++round) {
      const Bytes accumulator = random_elements(random, dtype, round % 2 == 0 ? 0.0 : 0.02);
      const Bytes message = encoded(dtype, random_elements(random, dtype, 0.01));
      Bytes expected = accumulator, found = accumulator;
      Decoder decoder;
      decoder.open(message, dtype, kCount * elements_per(dtype));
      decoder.combine(op, combine_for(dtype, op), expected.data());
      decoder.combine_nonzeros(combine_for(dtype, op), found.data());
      if (may_skip(dtype, op, is_clean(dtype, accumulator.data(), accumulator.size()))) {
        ASSERT_EQ(found, expected);
        ++allowed;
      } else if (found != expected) {
        ++differed;
      }
    }
  });
  EXPECT_GT(allowed, 500);
  EXPECT_GT(differed, 50);  // or the rule would forbid what does no harm
}

TEST(CodecCombine, ACleanAccumulatorStaysClean) {
  Random random(23);
  for (const DType dtype :
       {DType::float16, DType::bfloat16, DType::float32, DType::float64, DType::complex64,
        DType::float8_e4m3fn, DType::float8_e5m2, DType::float8_e4m3fnuz, DType::float8_e5m2fnuz}) {
    Bytes accumulator(kCount * bytes_of(dtype));
    Decoder decoder;
    for (int message_count = 0; message_count < 20; ++message_count) {
      const Bytes message = encoded(dtype, random_elements(random, dtype, 0.05));
      decoder.open(message, dtype, kCount * elements_per(dtype));
      decoder.combine_nonzeros(combine_for(dtype, Op::sum), accumulator.data());
      ASSERT_TRUE(is_clean(dtype, accumulator.data(), accumulator.size())) << name_of(dtype);
    }
  }
}

TEST(CodecCombine, CleanAreExactlyThe16BitFloatsThatAddingZeroKeeps) {
  for (const DType dtype : {DType::float16, DType::bfloat16})
    for (unsigned bits = 0; bits < 65536; ++bits) {
      const auto before = static_cast<std::uint16_t>(bits);
      const std::uint16_t zero = 0;
      std::uint16_t after;
      const auto bytes = [](auto& value) { return reinterpret_cast<std::byte*>(&value); };
      auto operand = before, nothing = zero;
      combine_for(dtype, Op::sum)(bytes(after), bytes(operand), bytes(nothing), 2);
      ASSERT_EQ(is_clean(dtype, bytes(operand), 2), after == before)
          << name_of(dtype) << " " << std::hex << bits;
    }
}

TEST(CodecCombine, CleanAreExactlyThe8BitFloatsThatAddingZeroKeeps) {
  for (const DType dtype :
       {DType::float8_e4m3fn, DType::float8_e5m2, DType::float8_e4m3fnuz, DType::float8_e5m2fnuz})
    for (unsigned bits = 0; bits < 256; ++bits) {
      const auto before = static_cast<std::byte>(bits);
      const std::byte zero{0};
      std::byte after;
      combine_for(dtype, Op::sum)(&after, &before, &zero, 1);
      ASSERT_EQ(is_clean(dtype, &before, 1), after == before) << name_of(dtype) << " " << std::hex << bits;
    }
}

TEST(CodecCombine, OneUncleanElementAnywhereIsSeen) {
  for (const std::size_t place : {0, 1, 255, 256, 999}) {
    std::array<float, 1000> elements{};
    const auto* bytes = reinterpret_cast<const std::byte*>(elements.data());
    EXPECT_TRUE(is_clean(DType::float32, bytes, sizeof elements));
    elements[place] = -0.0f;
    EXPECT_FALSE(is_clean(DType::float32, bytes, sizeof elements));
    EXPECT_TRUE(is_clean(DType::int32, bytes, sizeof elements));
    const std::uint32_t signalling = 0x7f800001;
    std::memcpy(&elements[place], &signalling, 4);
    EXPECT_FALSE(is_clean(DType::float32, bytes, sizeof elements));
  }
}

TEST(CodecCombine, UnknownOrOtherOperationsAreNeverSkipped) {
  EXPECT_TRUE(may_skip(DType::float32, Op::sum, true));
  EXPECT_TRUE(may_skip(DType::float32, Op::average, true));
  EXPECT_FALSE(may_skip(DType::float32, Op::sum, false));
  EXPECT_FALSE(may_skip(DType::boolean, Op::sum, false));
  EXPECT_TRUE(may_skip(DType::int64, Op::bxor, false));
  for (const Op op : {Op::product, Op::min, Op::max, Op::band})
    EXPECT_FALSE(may_skip(DType::int32, op, true)) << name_of(op);
}

#if defined(__x86_64__)
TEST(CodecCombine, WhereSubnormalsAreFlushedFloatsAreNotSkipped) {
  const unsigned before = _mm_getcsr();
  for (const unsigned mode : {1u << 15, 1u << 6}) {
    _mm_setcsr(before | mode);
    const bool floats = may_skip(DType::float32, Op::sum, true),
               integers = may_skip(DType::int32, Op::sum, false);
    _mm_setcsr(before);
    EXPECT_FALSE(floats);
    EXPECT_TRUE(integers);
  }
  EXPECT_TRUE(may_skip(DType::float32, Op::sum, true));
}

TEST(CodecCombine, WhereSubnormalsAreFlushedEveryElementIsCombinedAsADenseMessageWould) {
  Random random(24);
  const Bytes accumulator = random_elements(random, DType::float32, 0.7);
  const Bytes elements = random_elements(random, DType::float32, 0.1);
  const Bytes message = encoded(DType::float32, elements);
  Bytes expected = accumulator, found = accumulator;
  const Combine combine = combine_for(DType::float32, Op::sum);
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 1u << 15 | 1u << 6);
  combine(expected.data(), expected.data(), elements.data(), elements.size());
  Decoder decoder;
  decoder.open(message, DType::float32, kCount);
  decoder.combine(Op::sum, combine, found.data());
  _mm_setcsr(before);
  EXPECT_EQ(found, expected);
  EXPECT_NE(std::memcmp(expected.data(), accumulator.data(), expected.size()), 0);
}
#endif

}  // namespace
}  // namespace hemiola::codec_tests
