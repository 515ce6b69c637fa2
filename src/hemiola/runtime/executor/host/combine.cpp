// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/executor/host/combine.hpp"

#include <bit>
#include <type_traits>

#include "hemiola/runtime/executor/host/element.hpp"

namespace hemiola {

double average_factor(DType dtype, int rank_count) {
  const double factor = 1.0 / static_cast<double>(std::bit_ceil(static_cast<unsigned>(rank_count)));
  return dtype == DType::float8_e4m3fn && rank_count > 1 ? factor / 2 : factor;
}

namespace {

using namespace element;

template <typename T>
using ComputeOf = decltype(widen(std::declval<T>()));

/// dst may be a or b, never a shifted overlap of them, so iterations do not depend on one another (the ivdep
/// below).
template <typename T, typename F>
[[gnu::always_inline]] inline void combine_array(std::byte* dst, const std::byte* a, const std::byte* b,
                                                 std::size_t bytes) {
  auto* out = reinterpret_cast<T*>(dst);
  const auto* left = reinterpret_cast<const T*>(a);
  const auto* right = reinterpret_cast<const T*>(b);
  const std::size_t count = bytes / sizeof(T);
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) combine_one<F>(left[i], right[i], out[i]);
}

template <typename T>
struct RealOf {
  using type = ComputeOf<T>;
};
template <typename T>
struct RealOf<Complex<T>> {
  using type = T;
};

template <typename T>
struct StoredPartOf {
  using type = T;
};
template <typename T>
struct StoredPartOf<Complex<T>> {
  using type = T;
};

template <typename T>
[[gnu::always_inline]] inline void scale_array(std::byte* data, std::size_t bytes, int divisor) {
  using Real = typename RealOf<T>::type;
  auto* values = reinterpret_cast<T*>(data);
  constexpr DType dtype =
      std::is_same_v<T, Float8E4M3FN> ? DType::float8_e4m3fn : DType::float32;  // all others are alike
  const auto by = static_cast<Real>(divisor * average_factor(dtype, divisor));
  const Real largest = kLargest<typename StoredPartOf<T>::type>;
  const std::size_t count = bytes / sizeof(T);
  for (std::size_t i = 0; i < count; ++i) narrow(divided(widen(values[i]), by, largest), values[i]);
}

template <typename T>
[[gnu::always_inline]] inline void multiply_array(std::byte* dst, const std::byte* src, std::size_t bytes,
                                                  double factor) {
  auto* out = reinterpret_cast<T*>(dst);
  const auto* values = reinterpret_cast<const T*>(src);
  const auto by = static_cast<typename RealOf<T>::type>(factor);
  const std::size_t count = bytes / sizeof(T);
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) narrow(multiplied(widen(values[i]), by), out[i]);
}

// One set of kernels per instruction set: the same loops, compiled for each. The attribute cannot depend on a
// template parameter, hence the macro. Everything inlined into the loops is baseline code and so may be
// inlined anywhere.
#define HEMIOLA_KERNELS(Name, ATTRIBUTE)                                                                     \
  struct Name {                                                                                              \
    template <typename T, typename F>                                                                        \
    ATTRIBUTE static void combine(std::byte* dst, const std::byte* a, const std::byte* b,                    \
                                  std::size_t bytes) {                                                       \
      combine_array<T, F>(dst, a, b, bytes);                                                                 \
    }                                                                                                        \
    template <typename T>                                                                                    \
    ATTRIBUTE static void scale(std::byte* data, std::size_t bytes, int divisor) {                           \
      scale_array<T>(data, bytes, divisor);                                                                  \
    }                                                                                                        \
    template <typename T>                                                                                    \
    ATTRIBUTE static void multiply(std::byte* dst, const std::byte* src, std::size_t bytes, double factor) { \
      multiply_array<T>(dst, src, bytes, factor);                                                            \
    }                                                                                                        \
  };

HEMIOLA_KERNELS(Baseline, )
#if defined(__x86_64__)
HEMIOLA_KERNELS(Avx2, __attribute__((target("avx2"))))
HEMIOLA_KERNELS(Avx512, __attribute__((target("avx2,avx512f,avx512bw,avx512dq,avx512vl"))))
#endif
#undef HEMIOLA_KERNELS

/// gcc 12 fuses the multiplications and additions of complex products where AVX-512 is allowed, against -ffp-contract
/// (its addsub pattern), and the result would depend on the machine; AVX2 without FMA has nothing to fuse with.
template <typename Kernels, typename T>
struct ProductKernels : Kernels {};
#if defined(__x86_64__)
template <typename T>
struct ProductKernels<Avx512, Complex<T>> : Avx2 {};
#endif

template <typename Kernels, typename T>
Combine kernel_of(Op op) {
  constexpr bool complex = !std::is_same_v<T, ComputeOf<T>> ? false : std::is_class_v<T>;
  constexpr bool real = !complex && std::is_floating_point_v<ComputeOf<T>>;
  if (op == Op::sum || ((op == Op::average || op == Op::premul_sum) && (real || complex)))
    return &Kernels::template combine<T, Sum>;
  if (op == Op::product) return &ProductKernels<Kernels, T>::template combine<T, Product>;
  if constexpr (!complex) {
    if (op == Op::min) return &Kernels::template combine<T, Min>;
    if (op == Op::max) return &Kernels::template combine<T, Max>;
  }
  if constexpr (!complex && !real) {
    if (op == Op::band) return &Kernels::template combine<T, And>;
    if (op == Op::bor) return &Kernels::template combine<T, Or>;
    if (op == Op::bxor) return &Kernels::template combine<T, Xor>;
  }
  return nullptr;
}

/// Calls visit(T{}) with the storage type of `dtype`.
template <typename Visitor>
auto with_storage(DType dtype, Visitor visit) {
  switch (dtype) {
    case DType::float16:
      return visit(Half{});
    case DType::bfloat16:
      return visit(BFloat16{});
    case DType::float32:
      return visit(float{});
    case DType::float64:
      return visit(double{});
    case DType::int8:
      return visit(std::int8_t{});
    case DType::int16:
      return visit(std::int16_t{});
    case DType::int32:
      return visit(std::int32_t{});
    case DType::int64:
      return visit(std::int64_t{});
    case DType::uint8:
      return visit(std::uint8_t{});
    case DType::uint16:
      return visit(std::uint16_t{});
    case DType::uint32:
      return visit(std::uint32_t{});
    case DType::uint64:
      return visit(std::uint64_t{});
    case DType::boolean:
      return visit(Boolean{});
    case DType::complex64:
      return visit(Complex<float>{});
    case DType::complex128:
      return visit(Complex<double>{});
    case DType::float8_e4m3fn:
      return visit(Float8E4M3FN{});
    case DType::float8_e5m2:
      return visit(Float8E5M2{});
    case DType::float8_e4m3fnuz:
      return visit(Float8E4M3FNUZ{});
    case DType::float8_e5m2fnuz:
      return visit(Float8E5M2FNUZ{});
  }
  __builtin_unreachable();
}

/// Calls visit(Kernels{}) with the kernels of `isa`.
template <typename Visitor>
auto with_kernels(InstructionSet isa, Visitor visit) {
#if defined(__x86_64__)
  if (isa == InstructionSet::avx512) return visit(Avx512{});
  if (isa == InstructionSet::avx2) return visit(Avx2{});
#endif
  static_cast<void>(isa);
  return visit(Baseline{});
}

InstructionSet best_instruction_set() {
  static const InstructionSet best = instruction_sets().back();
  return best;
}

}  // namespace

std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> sets{InstructionSet::baseline};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) sets.push_back(InstructionSet::avx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    sets.push_back(InstructionSet::avx512);
#endif
  return sets;
}

Combine combine_for(DType dtype, Op op) {
  return combine_for(dtype, op, best_instruction_set());
}

Combine combine_for(DType dtype, Op op, InstructionSet isa) {
  return with_kernels(isa, [&](auto kernels) {
    return with_storage(dtype,
                        [&](auto storage) { return kernel_of<decltype(kernels), decltype(storage)>(op); });
  });
}

Scale scale_for(DType dtype) {
  return scale_for(dtype, best_instruction_set());
}

Scale scale_for(DType dtype, InstructionSet isa) {
  return with_kernels(isa, [&](auto kernels) {
    return with_storage(dtype, [&](auto storage) -> Scale {
      using T = decltype(storage);
      if constexpr (std::is_floating_point_v<typename RealOf<T>::type>)
        return &decltype(kernels)::template scale<T>;
      else
        return nullptr;
    });
  });
}

Multiply multiply_for(DType dtype) {
  return multiply_for(dtype, best_instruction_set());
}

Multiply multiply_for(DType dtype, InstructionSet isa) {
  return with_kernels(isa, [&](auto kernels) {
    return with_storage(dtype, [&](auto storage) -> Multiply {
      using T = decltype(storage);
      if constexpr (std::is_floating_point_v<typename RealOf<T>::type>)
        return &decltype(kernels)::template multiply<T>;
      else
        return nullptr;
    });
  });
}

}  // namespace hemiola
