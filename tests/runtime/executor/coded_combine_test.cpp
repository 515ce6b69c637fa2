// SPDX-License-Identifier: Apache-2.0
// A message that leaves zeros out is combined as a dense message would be, bit for bit.
#include <gtest/gtest.h>

#include "codec/messages.hpp"
#include "codec/sparse_bits.hpp"
#include "hemiola/runtime/executor/host/combine.hpp"

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

#if defined(__x86_64__)
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
