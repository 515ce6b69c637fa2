// SPDX-License-Identifier: Apache-2.0
// The element of each type, and each operation on two of them: the scalar truth that the kernels in combine.cpp apply
// to whole arrays. Branch-free, so that compilers vectorize loops over it.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace hemiola::element {

/// Storage types that compute in another type: arithmetic sees `Compute`.
struct Half {
  std::uint16_t bits;

  static constexpr std::uint16_t kNaN = 0xffff;
  bool is_nan() const { return (bits & 0x7fffu) > 0x7c00u; }
};
struct BFloat16 {
  std::uint16_t bits;

  static constexpr std::uint16_t kNaN = 0xffff;
  bool is_nan() const { return (bits & 0x7fffu) > 0x7f80u; }
};
/// The values of a float of 8 bits beside numbers.
enum class Special {
  infinities,     ///< as IEEE's types: the largest exponent is infinity's and NaN's
  one_nan,        ///< all bits but the sign: no infinity, too large values are NaN
  unsigned_zero,  ///< NaN has the bits of -0.0; no infinity either
};
template <int mantissa_bits, int bias, Special special>
struct Float8 {
  std::uint8_t bits;

  /// The least magnitude that is no number; too large values become this. It has no sign if zero has none.
  static constexpr std::uint32_t kBeyond = special == Special::infinities
                                               ? (0x7fu >> mantissa_bits) << mantissa_bits
                                           : special == Special::one_nan ? 0x7fu
                                                                         : 0x80u;
  static constexpr std::uint8_t kNaN = special == Special::unsigned_zero ? 0x80u : 0xffu;

  bool is_nan() const {
    if constexpr (special == Special::unsigned_zero) return bits == kNaN;
    return (bits & 0x7fu) > kBeyond - (special == Special::one_nan ? 1u : 0u);
  }
};
using Float8E4M3FN = Float8<3, 7, Special::one_nan>;
using Float8E5M2 = Float8<2, 15, Special::infinities>;
using Float8E4M3FNUZ = Float8<3, 8, Special::unsigned_zero>;
using Float8E5M2FNUZ = Float8<2, 16, Special::unsigned_zero>;
struct Boolean {
  std::uint8_t byte;
};
template <typename T>
struct Complex {
  T re, im;
};

/// float16 → float32, exact; subnormals by a multiplication that scales the exponent, infinities and NaN by
/// setting it.
inline float widen(Half h) {
  const std::uint32_t magnitude = (h.bits & 0x7fffu) << 13;
  const std::uint32_t scaled = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  const std::uint32_t special = (h.bits & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;
  return std::bit_cast<float>(scaled | special | (h.bits & 0x8000u) << 16);
}

/// float32 → float16, to nearest even; NaN has all bits set, too large becomes infinity.
inline void narrow(float value, Half& out) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // Below 2^-14 the result is subnormal: adding 0.5 lets the float adder round at the right bit.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  const std::uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
  const std::uint32_t infinite = magnitude >= 0x477ff000u ? 0x7c00u : finite;
  out.bits = static_cast<std::uint16_t>(sign | (magnitude > 0x7f800000u ? Half::kNaN : infinite));
}

inline float widen(BFloat16 b) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(b.bits) << 16);
}

/// float32 → bfloat16, to nearest even; NaN has all bits set.
inline void narrow(float value, BFloat16& out) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  out.bits = static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? BFloat16::kNaN : rounded);
}

/// float8 → float32, exact: as of float16.
template <int mantissa_bits, int bias, Special special>
inline float widen(Float8<mantissa_bits, bias, special> f) {
  constexpr auto kScale = std::bit_cast<float>(static_cast<std::uint32_t>(254 - bias) << 23);
  constexpr std::uint32_t kNoNumber = special == Special::infinities ? 0x7f800000u : 0x7fc00000u;
  const std::uint32_t magnitude = f.bits & 0x7fu;
  const std::uint32_t scaled =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude << (23 - mantissa_bits)) * kScale);
  const std::uint32_t looked_at = special == Special::unsigned_zero ? f.bits : magnitude;
  const bool is_number = special == Special::unsigned_zero ? looked_at != f.kBeyond : looked_at < f.kBeyond;
  return std::bit_cast<float>(scaled | (is_number ? 0u : kNoNumber) | (f.bits & 0x80u) << 24);
}

/// float32 → float8, to nearest even; NaN has all bits set that it may, too large becomes infinity or, without one, NaN.
template <int mantissa_bits, int bias, Special special>
inline void narrow(float value, Float8<mantissa_bits, bias, special>& out) {
  constexpr int kDropped = 23 - mantissa_bits;
  constexpr std::uint32_t kLeastNormal = static_cast<std::uint32_t>(128 - bias) << 23;
  // Added to a subnormal result, its last bit is the last one of the sum: the float adder rounds there.
  constexpr std::uint32_t kRounder = static_cast<std::uint32_t>(128 - bias + kDropped) << 23;
  constexpr std::uint32_t kBeyond = Float8<mantissa_bits, bias, special>::kBeyond;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 24 & 0x80u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(kRounder)) -
      kRounder;
  const std::uint32_t normal = (magnitude - (kLeastNormal - (1u << 23)) + ((1u << (kDropped - 1)) - 1) +
                                (magnitude >> kDropped & 1u)) >>
                               kDropped;
  const std::uint32_t rounded = magnitude < kLeastNormal ? subnormal : normal;
  const std::uint32_t result = rounded < kBeyond && magnitude < 0x7f800000u ? rounded : kBeyond;
  const bool has_sign = special != Special::unsigned_zero || (result != 0 && result != kBeyond);
  const std::uint32_t signed_result = result | (has_sign ? sign : 0u);
  constexpr std::uint32_t kNaN = Float8<mantissa_bits, bias, special>::kNaN;
  const bool is_nan = special == Special::infinities ? magnitude > 0x7f800000u : result == kBeyond;
  out.bits = static_cast<std::uint8_t>(is_nan ? kNaN : signed_result);
}

inline bool widen(Boolean b) {
  return b.byte != 0;
}
inline void narrow(bool value, Boolean& out) {
  out.byte = value;
}

template <typename T>
inline T widen(T value) {
  return value;
}
template <typename T>
inline void narrow(T value, T& out) {
  out = value;
}

/// Unsigned and at least as wide as int, so that neither overflow nor integer promotion is undefined.
template <typename T>
using Wrapping = std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, std::make_unsigned_t<T>>;

template <typename T>
inline constexpr bool is_bool = std::is_same_v<T, bool>;
template <typename T>
inline constexpr bool is_integer = std::is_integral_v<T> && !is_bool<T>;

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <typename T>
inline BitsOf<T> bits_of(T value) {
  return std::bit_cast<BitsOf<T>>(value);
}

/// The float of these bits, or, where a and b are not ordered, NaN with all bits set.
template <typename T>
inline T with_one_nan(BitsOf<T> bits, T a, T b) {
  return std::bit_cast<T>(bits | (__builtin_isunordered(a, b) ? ~BitsOf<T>{0} : BitsOf<T>{0}));
}

/// The result as it is, or NaN with all bits set. Units keep the sign and the payload of the first of two NaN. Of double,
/// gcc 12 vectorizes no "or" for SSE2.
template <typename T>
inline T with_one_nan(T result) {
  if constexpr (!std::is_floating_point_v<T>)
    return result;
  else if constexpr (sizeof(T) == 8)
    return result == result ? result : std::bit_cast<T>(~std::uint64_t{0});
  else
    return with_one_nan(bits_of(result), result, result);
}
template <typename T>
inline Complex<T> with_one_nan(Complex<T> result) {
  return {with_one_nan(result.re), with_one_nan(result.im)};
}

// With one NaN every operation is commutative to the last bit: all ranks that combine the same two values get the same
// bits, independent of the one that is their own.

struct Sum {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (is_bool<T>)
      return a | b;
    else if constexpr (is_integer<T>)
      return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
    else
      return a + b;
  }
  template <typename T>
  static Complex<T> apply(Complex<T> a, Complex<T> b) {
    return {a.re + b.re, a.im + b.im};
  }
};

struct Product {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (is_bool<T>)
      return a & b;
    else if constexpr (is_integer<T>)
      return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
    else
      return a * b;
  }
  /// The plain formula, as NumPy's; std::complex would repair infinities and not vectorize.
  template <typename T>
  static Complex<T> apply(Complex<T> a, Complex<T> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
};

/// Short floats in the order of their values, as integers; -0.0 is less than +0.0.
template <typename Short>
inline auto order_of(Short value) {
  using Signed = std::make_signed_t<decltype(value.bits)>;
  const auto bits = static_cast<Signed>(value.bits);
  return static_cast<Signed>(bits ^
                             ((bits >> (8 * sizeof(Signed) - 1)) & std::numeric_limits<Signed>::max()));
}

/// Which of two values comes first. Of two equal floats both are looked at, since one may be -0.0, which is less than +0.0.
struct Min {
  template <typename T>
  static T apply(T a, T b) {
    const T one = a < b ? a : b;
    if constexpr (!std::is_floating_point_v<T>)
      return one;
    else
      return with_one_nan(bits_of(one) | bits_of(b < a ? b : a), a, b);
  }
  template <typename Short>
  static bool takes_first(Short a, Short b) {
    return order_of(a) < order_of(b);
  }
};
struct Max {
  template <typename T>
  static T apply(T a, T b) {
    const T one = a > b ? a : b;
    if constexpr (!std::is_floating_point_v<T>)
      return one;
    else
      return with_one_nan(bits_of(one) & bits_of(b > a ? b : a), a, b);
  }
  template <typename Short>
  static bool takes_first(Short a, Short b) {
    return order_of(a) > order_of(b);
  }
};

struct And {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

template <typename T>
inline T multiplied(T value, T factor) {
  return value * factor;
}
template <typename T>
inline Complex<T> multiplied(Complex<T> value, T factor) {
  return {value.re * factor, value.im * factor};
}

template <typename T>
concept ShortFloat = requires(T value) { value.is_nan(); };

/// The largest finite value of a stored float, as it is computed with.
template <typename T>
inline constexpr auto kLargest = std::numeric_limits<T>::max();
template <>
inline constexpr float kLargest<Half> = 65504.0f;
template <>
inline constexpr float kLargest<BFloat16> = 0x1.fep127f;
template <int mantissa_bits, int bias, Special special>
inline const float kLargest<Float8<mantissa_bits, bias, special>> =
    widen(Float8<mantissa_bits, bias, special>{Float8<mantissa_bits, bias, special>::kBeyond - 1});

/// A finite value divided by a `divisor` of more than a quarter and at most 1, and finite again, although rounding may have made
/// the value larger than an average is.
template <typename T>
inline T divided(T value, T divisor, T largest) {
  const T quotient = value / divisor;
  const T bounded = quotient > largest ? largest : quotient < -largest ? -largest : quotient;
  const bool is_finite = value <= largest && value >= -largest;
  return is_finite ? bounded : quotient;
}
template <typename T>
inline Complex<T> divided(Complex<T> value, T divisor, T largest) {
  return {divided(value.re, divisor, largest), divided(value.im, divisor, largest)};
}

/// Combines two stored elements into a third.
template <typename F, typename T>
inline void combine_one(T a, T b, T& out) {
  constexpr bool orders = std::is_same_v<F, Min> || std::is_same_v<F, Max>;
  if constexpr (orders && ShortFloat<T>) {
    const auto chosen = F::takes_first(a, b) ? a.bits : b.bits;
    out.bits = a.is_nan() | b.is_nan() ? T::kNaN : chosen;
  } else if constexpr (orders || ShortFloat<T>) {
    narrow(F::apply(widen(a), widen(b)), out);
  } else {
    narrow(with_one_nan(F::apply(widen(a), widen(b))), out);
  }
}

}  // namespace hemiola::element
