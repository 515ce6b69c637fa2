// SPDX-License-Identifier: Apache-2.0
// The reduction kernels: two arrays of one element type become one, element by element. Results do not depend
// on the instruction set that is chosen at run time, on alignment, or on how an array is cut.
#pragma once

#include <cstddef>
#include <vector>

#include "hemiola/base/dtype.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

/// Ends an average of `divisor` ranks' values that were multiplied by `average_factor`, over `bytes` bytes of whole elements.
/// Finite sums become finite averages.
using Scale = void (*)(std::byte* data, std::size_t bytes, int divisor);

/// dst[i] = src[i] · factor over `bytes` bytes of whole elements; dst may be src. Short floats are multiplied as float32.
using Multiply = void (*)(std::byte* dst, const std::byte* src, std::size_t bytes, double factor);

/// The factor by which each rank multiplies its part of an average, so that no sum of finite values overflows: 1 over
/// the least power of two that is not less than the number of ranks; half of that for float8_e4m3fn, whose largest
/// mantissa is not all ones, so that sums may round beyond it. Exact but for values so small that bits fall off.
double average_factor(DType dtype, int rank_count);

/// Instruction sets with kernels of their own, slowest first.
enum class InstructionSet : std::uint8_t { baseline, avx2, avx512 };

/// The kernel of an element type and operation for the best instruction set of this machine; null where it
/// makes no sense: and/or/xor of floats, min/max of complex numbers, the average of integers and booleans.
///
/// Every operation is commutative to the last bit. NaN from any source has all bits set (of the float8 without -0.0:
/// the one that stands for NaN). min and max return NaN when either operand is NaN, as NumPy's minimum and maximum do,
/// and -0.0 is less than +0.0. Integers wrap around. bfloat16, float16 and the four float8 are computed in float32 and
/// rounded to nearest even; values too large for a float8 without infinity are NaN. Booleans: sum and max are or,
/// product and min are and.
Combine combine_for(DType dtype, Op op);
Combine combine_for(DType dtype, Op op, InstructionSet isa);

/// The division that ends an average; null for integers and booleans.
Scale scale_for(DType dtype);
Scale scale_for(DType dtype, InstructionSet isa);

/// The multiplication that begins an average and a premul_sum; null for integers and booleans.
Multiply multiply_for(DType dtype);
Multiply multiply_for(DType dtype, InstructionSet isa);

/// Those that this machine can run; `combine_for` takes the last one.
std::vector<InstructionSet> instruction_sets();

}  // namespace hemiola
