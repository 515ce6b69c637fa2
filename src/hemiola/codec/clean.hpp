// When zeros may be left out of a sum. x + 0 is x, bit for bit, but for x = -0.0, which becomes +0.0, and for NaN, which gets
// all bits set. An accumulator without such values stays without them: a sum is -0.0 only if both operands are.
#pragma once

#include <cstddef>

#include "hemiola/base/dtype.hpp"

namespace hemiola::codec {

/// Whether combining any of these elements with zero, by an operation that `ignores_zero`, leaves every bit as it is.
bool is_clean(DType dtype, const std::byte* elements, std::size_t bytes);

/// Whether zero is what the operation ignores: sums (of averages and of multiplied values, too), or, exclusive or.
constexpr bool ignores_zero(Op op) {
  return op == Op::sum || op == Op::average || op == Op::premul_sum || op == Op::bor || op == Op::bxor;
}

/// Whether this thread's floating-point unit takes subnormals for zeros, or makes zeros of them: a dense sum then changes
/// elements that are left alone where zeros are skipped.
bool flushes_subnormals();

/// Whether `Decoder::combine_nonzeros` gives what `combine` does. `accumulator_is_clean`: what `is_clean` said of the
/// accumulator before its first message; unknown is false.
bool may_skip(DType dtype, Op op, bool accumulator_is_clean);

}  // namespace hemiola::codec
