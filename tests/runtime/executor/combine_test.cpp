// SPDX-License-Identifier: Apache-2.0
// Every kernel of every instruction set against a scalar reference that shares no code with it: odd lengths,
// misaligned arrays, all aliasings that are allowed, and the special values of each type.
#include "hemiola/runtime/executor/host/combine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "hemiola/base/random.hpp"

namespace hemiola {
namespace {

constexpr int kDTypes = static_cast<int>(kDTypeNames.size());
constexpr int kOps = static_cast<int>(kOpNames.size());

// ---- short floats by the definition: the value is sign · 2^(e-bias) · 1.m, rounding picks the nearest ----

struct Format {
  int exponent_bits, mantissa_bits;
  int bias = (1 << (exponent_bits - 1)) - 1;
  int first_no_number = ((1 << exponent_bits) - 1) << mantissa_bits;  // the magnitude of infinity or NaN
  bool has_infinity = true, has_negative_zero = true;

  int sign() const { return 1 << (exponent_bits + mantissa_bits); }
  std::size_t bytes() const { return exponent_bits + mantissa_bits > 8 ? 2 : 1; }
};
constexpr Format kHalf{5, 10};
constexpr Format kBrain{8, 7};
constexpr Format kE4M3FN{
    .exponent_bits = 4, .mantissa_bits = 3, .first_no_number = 0x7f, .has_infinity = false};
constexpr Format kE5M2{5, 2};
constexpr Format kE4M3FNUZ{4, 3, 8, 0x80, false, false};
constexpr Format kE5M2FNUZ{5, 2, 16, 0x80, false, false};

const Format* short_format(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return &kHalf;
    case DType::bfloat16:
      return &kBrain;
    case DType::float8_e4m3fn:
      return &kE4M3FN;
    case DType::float8_e5m2:
      return &kE5M2;
    case DType::float8_e4m3fnuz:
      return &kE4M3FNUZ;
    case DType::float8_e5m2fnuz:
      return &kE5M2FNUZ;
    default:
      return nullptr;
  }
}

double number_of(int magnitude, Format f) {
  const int mantissa = magnitude & ((1 << f.mantissa_bits) - 1);
  const int exponent = magnitude >> f.mantissa_bits;
  if (exponent == 0) return std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits);
  return std::ldexp((1 << f.mantissa_bits) + mantissa, exponent - f.bias - f.mantissa_bits);
}

double decode(int bits, Format f) {
  const int magnitude = bits & (f.sign() - 1);
  if (!f.has_negative_zero && bits == f.sign()) return std::nan("");
  if (magnitude >= f.first_no_number && (magnitude > f.first_no_number || !f.has_infinity))
    return std::nan("");
  const double value = magnitude == f.first_no_number ? HUGE_VAL : number_of(magnitude, f);
  return bits & f.sign() ? -value : value;
}

/// The nearest representable value, ties to the even mantissa, found among the two neighbours by bisection. What lies
/// beyond the largest number rounds as if one more followed.
std::uint16_t encode(double value, Format f) {
  const auto nan = static_cast<std::uint16_t>(f.has_negative_zero ? 2 * f.sign() - 1 : f.sign());
  if (std::isnan(value)) return nan;
  const double magnitude = std::fabs(value);
  int low = 0,
      high = f.first_no_number;  // number_of(low) <= magnitude < number_of(high), unless it is larger
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (number_of(middle, f) <= magnitude ? low : high) = middle;
  }
  const double down = magnitude - number_of(low, f), up = number_of(high, f) - magnitude;
  const int nearest = magnitude >= HUGE_VAL || up < down || (up == down && low % 2 == 1) ? high : low;
  if (nearest == f.first_no_number && !f.has_infinity) return nan;
  const bool signless = !f.has_negative_zero && (nearest == 0 || nearest == f.first_no_number);
  return static_cast<std::uint16_t>(nearest | (std::signbit(value) && !signless ? f.sign() : 0));
}

// ---- the reference operations, on one element given as bytes ----

template <typename T>
T combine_scalar(T a, T b, Op op) {
  if constexpr (std::is_same_v<T, bool>) {
    if (op == Op::sum || op == Op::max || op == Op::bor) return a || b;
    if (op == Op::bxor) return a != b;
    return a && b;
  } else {
    if constexpr (std::is_integral_v<T>) {
      using Wide = unsigned __int128;
      if (op == Op::sum) return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
      if (op == Op::product) return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
      if (op == Op::band) return static_cast<T>(a & b);
      if (op == Op::bor) return static_cast<T>(a | b);
      if (op == Op::bxor) return static_cast<T>(a ^ b);
    } else {
      if (op == Op::sum || op == Op::average || op == Op::premul_sum) return a + b;
      if (op == Op::product) return a * b;
      if (std::isnan(a)) return a;
      if (std::isnan(b)) return b;
      if (a == b) return std::signbit(a) == (op == Op::min) ? a : b;  // -0.0 is less than +0.0
    }
    if (op == Op::min) return a < b ? a : b;
    return a > b ? a : b;
  }
}

template <typename T>
std::complex<T> combine_scalar(std::complex<T> a, std::complex<T> b, Op op) {
  if (op != Op::product) return a + b;
  // volatile keeps each product rounded on its own, whatever the compiler would like to fuse.
  volatile T rr = a.real() * b.real(), ii = a.imag() * b.imag(), ri = a.real() * b.imag(),
             ir = a.imag() * b.real();
  return {rr - ii, ri + ir};
}

/// NaN has all bits set, whatever it comes from.
template <typename T>
void put(std::byte* out, T value) {
  std::memcpy(out, &value, sizeof(T));
  if (value != value) std::memset(out, 0xff, sizeof(T));
}
template <typename T>
void put(std::byte* out, std::complex<T> value) {
  put(out, value.real());
  put(out + sizeof(T), value.imag());
}

template <typename T>
void through(std::byte* out, const std::byte* a, const std::byte* b, Op op) {
  T x, y;
  std::memcpy(&x, a, sizeof(T));
  std::memcpy(&y, b, sizeof(T));
  put(out, combine_scalar(x, y, op));
}

void through_format(std::byte* out, const std::byte* a, const std::byte* b, Op op, Format f) {
  std::uint16_t x = 0, y = 0;
  std::memcpy(&x, a, f.bytes());
  std::memcpy(&y, b, f.bytes());
  // Sums and products of two such values round to float first, as the kernels promise.
  const auto z = combine_scalar(static_cast<float>(decode(x, f)), static_cast<float>(decode(y, f)), op);
  const std::uint16_t bits = encode(z, f);
  std::memcpy(out, &bits, f.bytes());
}

void through_bool(std::byte* out, const std::byte* a, const std::byte* b, Op op) {
  *out = std::byte{combine_scalar(*a != std::byte{0}, *b != std::byte{0}, op)};
}

void combine_reference(DType dtype, Op op, std::byte* out, const std::byte* a, const std::byte* b) {
  if (const Format* format = short_format(dtype)) return through_format(out, a, b, op, *format);
  switch (dtype) {
    case DType::float32:
      return through<float>(out, a, b, op);
    case DType::float64:
      return through<double>(out, a, b, op);
    case DType::int8:
      return through<std::int8_t>(out, a, b, op);
    case DType::int16:
      return through<std::int16_t>(out, a, b, op);
    case DType::int32:
      return through<std::int32_t>(out, a, b, op);
    case DType::int64:
      return through<std::int64_t>(out, a, b, op);
    case DType::uint8:
      return through<std::uint8_t>(out, a, b, op);
    case DType::uint16:
      return through<std::uint16_t>(out, a, b, op);
    case DType::uint32:
      return through<std::uint32_t>(out, a, b, op);
    case DType::uint64:
      return through<std::uint64_t>(out, a, b, op);
    case DType::boolean:
      return through_bool(out, a, b, op);
    case DType::complex64:
      return through<std::complex<float>>(out, a, b, op);
    case DType::complex128:
      return through<std::complex<double>>(out, a, b, op);
    default:
      FAIL() << "no reference for dtype " << static_cast<int>(dtype);
  }
}

// ---- comparison: equal bits, except that any NaN equals any NaN ----

std::size_t part_bytes(DType dtype) {  // of what can be NaN on its own
  return dtype == DType::complex64 || dtype == DType::complex128 ? bytes_of(dtype) / 2 : bytes_of(dtype);
}

bool is_nan(DType dtype, const std::byte* part) {
  double d;
  float f;
  std::uint16_t bits = 0;
  if (const Format* format = short_format(dtype)) {
    std::memcpy(&bits, part, format->bytes());
    return std::isnan(decode(bits, *format));
  }
  switch (dtype) {
    case DType::float32:
    case DType::complex64:
      std::memcpy(&f, part, 4);
      return std::isnan(f);
    case DType::float64:
    case DType::complex128:
      std::memcpy(&d, part, 8);
      return std::isnan(d);
    default:
      return false;
  }
}

bool same_value(DType dtype, const std::byte* x, const std::byte* y) {
  for (std::size_t at = 0; at < bytes_of(dtype); at += part_bytes(dtype))
    if (std::memcmp(x + at, y + at, part_bytes(dtype)) != 0 &&
        !(is_nan(dtype, x + at) && is_nan(dtype, y + at)))
      return false;
  return true;
}

/// Random bits: every value of every type, subnormals, infinities and NaN among them; floats half of the time
/// near 1.
std::vector<std::byte> random_elements(DType dtype, std::size_t count, Random& random) {
  std::vector<std::byte> bytes(count * bytes_of(dtype));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
  const bool boolean = dtype == DType::boolean;
  if (boolean)
    for (std::byte& byte : bytes) byte &= std::byte{1};
  const std::size_t part = part_bytes(dtype);
  for (std::size_t at = 0; at + part <= bytes.size(); at += part) {
    if (random.below(2) == 0) continue;
    const float near_one = static_cast<float>(random.uniform() * 4 - 2);
    const double near_one_d = random.uniform() * 4 - 2;
    if (dtype == DType::float32 || dtype == DType::complex64) std::memcpy(&bytes[at], &near_one, 4);
    if (dtype == DType::float64 || dtype == DType::complex128) std::memcpy(&bytes[at], &near_one_d, 8);
    if (const Format* format = short_format(dtype)) {
      const std::uint16_t bits = encode(near_one, *format);
      std::memcpy(&bytes[at], &bits, format->bytes());
    }
  }
  return bytes;
}

bool makes_sense(DType dtype, Op op) {
  const std::string name(name_of(dtype));
  const bool complex = name.starts_with("complex");
  const bool floating = complex || name.find("float") != std::string::npos;
  if (op == Op::average || op == Op::premul_sum) return floating;
  if (op == Op::min || op == Op::max) return !complex;
  if (op == Op::band || op == Op::bor || op == Op::bxor) return !floating;
  return true;
}

class EveryKernel : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  DType dtype() const { return static_cast<DType>(std::get<0>(GetParam())); }
  Op op() const { return static_cast<Op>(std::get<1>(GetParam())); }
};

TEST_P(EveryKernel, ExistsExactlyWhereItMakesSense) {
  for (InstructionSet isa : instruction_sets())
    EXPECT_EQ(combine_for(dtype(), op(), isa) != nullptr, makes_sense(dtype(), op()));
  EXPECT_EQ(is_defined(op(), dtype()), makes_sense(dtype(), op()));
}

TEST_P(EveryKernel, EqualsTheScalarReferenceForOddSizesAndMisalignedArrays) {
  if (!makes_sense(dtype(), op())) return;
  const std::uint64_t seed =
      1000 + 10 * static_cast<std::uint64_t>(std::get<0>(GetParam())) + std::get<1>(GetParam());
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const std::size_t size = bytes_of(dtype());
  for (std::size_t count : {0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 65, 127, 257, 1000}) {
    const auto a = random_elements(dtype(), count, random), b = random_elements(dtype(), count, random);
    std::vector<std::byte> expected(count * size);
    for (std::size_t i = 0; i < count * size; i += size)
      combine_reference(dtype(), op(), &expected[i], &a[i], &b[i]);
    for (InstructionSet isa : instruction_sets()) {
      for (std::size_t shift : {0, 1, 3}) {  // in elements, from a well aligned start
        std::vector<std::byte> left(shift * size), right((2 * shift) * size),
            out((count + shift + 1) * size, std::byte{0x5a});
        left.insert(left.end(), a.begin(), a.end());
        right.insert(right.end(), b.begin(), b.end());
        combine_for(dtype(), op(), isa)(out.data() + shift * size, left.data() + shift * size,
                                        right.data() + 2 * shift * size, count * size);
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_EQ(std::memcmp(&out[(shift + i) * size], &expected[i * size], size), 0)
              << name_of(dtype()) << " " << name_of(op()) << " element " << i << " of " << count << ", shift "
              << shift << ", instruction set " << static_cast<int>(isa);
        for (std::size_t i = 0; i < shift * size; ++i) ASSERT_EQ(out[i], std::byte{0x5a}) << "guard before";
        for (std::size_t i = (shift + count) * size; i < out.size(); ++i)
          ASSERT_EQ(out[i], std::byte{0x5a}) << "guard after";
      }
    }
  }
}

TEST_P(EveryKernel, MayWriteOverEitherOperand) {
  if (!makes_sense(dtype(), op())) return;
  Random random(7);
  const std::size_t count = 333, size = bytes_of(dtype());
  const auto a = random_elements(dtype(), count, random), b = random_elements(dtype(), count, random);
  for (InstructionSet isa : instruction_sets()) {
    const Combine combine = combine_for(dtype(), op(), isa);
    std::vector<std::byte> apart(count * size), over_a = a, over_b = b;
    combine(apart.data(), a.data(), b.data(), count * size);
    combine(over_a.data(), over_a.data(), b.data(), count * size);
    combine(over_b.data(), a.data(), over_b.data(), count * size);
    EXPECT_EQ(apart, over_a);
    EXPECT_EQ(apart, over_b);
  }
}

/// Two ends of an exchange hold the same two values the other way round, cut into messages of other lengths.
TEST_P(EveryKernel, GivesTheSameBitsWhicheverOperandComesFirst) {
  if (!makes_sense(dtype(), op())) return;
  Random random(11);
  const std::size_t count = 4099, size = bytes_of(dtype());
  auto a = random_elements(dtype(), count, random), b = random_elements(dtype(), count, random);
  for (std::size_t i = 0; i < 64;
       ++i) {  // pairs of special values of either sign: 0, infinity, NaN, the least
    const std::size_t part = part_bytes(dtype()), at = i * size;
    for (std::size_t k = 0; k + 1 < part; ++k)
      a[at + k] = b[at + k] = std::byte(i % 3 == 0 ? 0 : random.below(2));
    a[at + part - 1] = std::byte(i % 2 == 0 ? 0x00 : 0x7f),
                  b[at + part - 1] = std::byte(i % 4 < 2 ? 0x80 : 0xff);
    if (dtype() == DType::boolean) a[at] &= std::byte{1}, b[at] &= std::byte{1};
  }
  for (InstructionSet isa : instruction_sets()) {
    const Combine combine = combine_for(dtype(), op(), isa);
    std::vector<std::byte> whole(count * size), swapped(count * size);
    combine(whole.data(), a.data(), b.data(), whole.size());
    for (std::size_t at = 0; at < whole.size();) {
      const std::size_t bytes = std::min(whole.size() - at, (1 + random.below(70)) * size);
      combine(&swapped[at], &b[at], &a[at], bytes);
      at += bytes;
    }
    EXPECT_EQ(whole, swapped) << static_cast<int>(isa);
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypesAndOps, EveryKernel,
                         testing::Combine(testing::Range(0, kDTypes), testing::Range(0, kOps)),
                         [](const auto& info) {
                           return std::string(
                                      kDTypeNames[static_cast<std::size_t>(std::get<0>(info.param))]) +
                                  "_" +
                                  std::string(kOpNames[static_cast<std::size_t>(std::get<1>(info.param))]);
                         });

/// Widening is exact and narrowing the identity on it: x · 1 gives x back for all 65,536 patterns (any NaN
/// for a NaN).
TEST(Combine, MultiplyingByOneKeepsEverySixteenBitFloat) {
  for (auto [dtype, format, one] :
       {std::tuple{DType::float16, kHalf, 0x3c00}, std::tuple{DType::bfloat16, kBrain, 0x3f80}}) {
    std::vector<std::uint16_t> all(65536), ones(65536, static_cast<std::uint16_t>(one)), out(65536);
    for (int i = 0; i < 65536; ++i) all[static_cast<std::size_t>(i)] = static_cast<std::uint16_t>(i);
    for (InstructionSet isa : instruction_sets()) {
      combine_for(dtype, Op::product, isa)(reinterpret_cast<std::byte*>(out.data()),
                                           reinterpret_cast<const std::byte*>(all.data()),
                                           reinterpret_cast<const std::byte*>(ones.data()), 131072);
      for (std::size_t i = 0; i < all.size(); ++i)
        ASSERT_TRUE(out[i] == all[i] ||
                    (std::isnan(decode(out[i], format)) && std::isnan(decode(all[i], format))))
            << name_of(dtype) << " pattern " << i << " became " << out[i];
    }
  }
}

/// All pairs there are, so every rounding, overflow, zero and NaN.
TEST(Combine, EveryPairOfEightBitFloatsIsCombinedByTheDefinition) {
  std::vector<std::byte> left(65536), right(65536), out(65536), expected(65536);
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = std::byte(i >> 8), right[i] = std::byte(i & 0xff);
  for (const DType dtype :
       {DType::float8_e4m3fn, DType::float8_e5m2, DType::float8_e4m3fnuz, DType::float8_e5m2fnuz})
    for (const Op op : {Op::sum, Op::product, Op::min, Op::max}) {
      for (std::size_t i = 0; i < left.size(); ++i)
        combine_reference(dtype, op, &expected[i], &left[i], &right[i]);
      for (InstructionSet isa : instruction_sets()) {
        combine_for(dtype, op, isa)(out.data(), left.data(), right.data(), out.size());
        for (std::size_t i = 0; i < out.size(); ++i)
          ASSERT_EQ(out[i], expected[i])
              << name_of(dtype) << " " << name_of(op) << " of patterns " << (i >> 8) << " and " << (i & 0xff);
      }
    }
}

/// Given 1 + 2^-8 (halfway between the bfloat16 neighbours 1 and 1 + 2^-7), Expect 1, whose mantissa is even;
/// and given 1 + 2^-7 + 2^-8, halfway again, Expect 1 + 2^-6.
TEST(Combine, BFloat16SumsRoundHalfwayCasesToEven) {
  const std::uint16_t left[2] = {0x3f80, 0x3f81}, right[2] = {0x3b80, 0x3b80};
  std::uint16_t out[2];
  combine_for(DType::bfloat16, Op::sum)(reinterpret_cast<std::byte*>(out),
                                        reinterpret_cast<const std::byte*>(left),
                                        reinterpret_cast<const std::byte*>(right), 4);
  EXPECT_EQ(out[0], 0x3f80);
  EXPECT_EQ(out[1], 0x3f82);
}

TEST(Scale, DividesFloatsAndComplexNumbersAndNothingElse) {
  for (int d = 0; d < kDTypes; ++d)
    EXPECT_EQ(scale_for(static_cast<DType>(d)) != nullptr, makes_sense(static_cast<DType>(d), Op::average))
        << kDTypeNames[static_cast<std::size_t>(d)];
  for (InstructionSet isa : instruction_sets()) {
    std::vector<float> floats{3.0f, 1.0f, -6.0f, 0.1f, 7.0f};
    std::vector<float> thirds;
    for (float f : floats) thirds.push_back(f / 0.75f);  // of three ranks' quarters
    scale_for(DType::float32, isa)(reinterpret_cast<std::byte*>(floats.data()), 20, 3);
    EXPECT_EQ(floats, thirds);
    std::vector<std::complex<double>> complex{{4, -8}, {1, 2}, {0, 6}};
    scale_for(DType::complex128, isa)(reinterpret_cast<std::byte*>(complex.data()), 48, 5);
    EXPECT_EQ(complex, (std::vector<std::complex<double>>{{6.4, -12.8}, {1.6, 3.2}, {0, 9.6}}));
    std::vector<std::uint16_t> halves{0x4200, 0x3c00, 0x7c00, 0xfc00};  // 3, 1, inf, -inf
    scale_for(DType::float16, isa)(reinterpret_cast<std::byte*>(halves.data()), 8, 3);
    EXPECT_EQ(halves, (std::vector<std::uint16_t>{0x4400, 0x3d55, 0x7c00, 0xfc00}));
  }
}

/// Given the largest value of every type on all ranks, added in a chain and in pairs. Expect the same value, give or take what
/// rounding takes from it, and never infinity or NaN: rounding is monotone, so no other finite values give larger sums.
TEST(Scale, TheAverageOfTheLargestValuesIsFinite) {
  for (int d = 0; d < kDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    if (!makes_sense(dtype, Op::average)) continue;
    const std::size_t size = bytes_of(dtype), part = part_bytes(dtype);
    std::vector<std::byte> largest(size);
    for (std::size_t at = 0; at < size; at += part) {
      const float most = std::numeric_limits<float>::max();
      const double most_d = std::numeric_limits<double>::max();
      if (const Format* format = short_format(dtype)) {
        const int bits = format->first_no_number - 1;
        std::memcpy(&largest[at], &bits, format->bytes());
      } else {
        std::memcpy(&largest[at], part == 4 ? static_cast<const void*>(&most) : &most_d, part);
      }
    }
    const Combine add = combine_for(dtype, Op::average);
    for (int ranks = 1; ranks <= 70; ++ranks) {
      std::vector<std::byte> one(size), chain(size);
      multiply_for(dtype)(one.data(), largest.data(), size, average_factor(dtype, ranks));
      chain = one;
      std::vector<std::vector<std::byte>> pairs(static_cast<std::size_t>(ranks), one);
      for (int rank = 1; rank < ranks; ++rank) add(chain.data(), chain.data(), one.data(), size);
      while (pairs.size() > 1) {
        add(pairs[0].data(), pairs[0].data(), pairs.back().data(), size);
        std::rotate(pairs.begin(), pairs.begin() + 1, pairs.end() - 1);
        pairs.pop_back();
      }
      for (std::vector<std::byte>* sum : {&chain, &pairs[0]}) {
        scale_for(dtype)(sum->data(), size, ranks);
        for (std::size_t at = 0; at < size; at += part) {
          EXPECT_FALSE(is_nan(dtype, &(*sum)[at])) << name_of(dtype) << ", " << ranks << " ranks";
          EXPECT_LE(std::memcmp(&(*sum)[at + part - 1], &largest[at + part - 1], 1), 0)
              << name_of(dtype) << ", " << ranks << " ranks";
        }
      }
    }
  }
}

/// By 1 every value stays, by 0.5 as halves of the definition; integers and booleans have no product with a fraction.
TEST(Multiply, MultipliesFloatsAndComplexNumbersAndNothingElse) {
  for (int d = 0; d < kDTypes; ++d)
    EXPECT_EQ(multiply_for(static_cast<DType>(d)) != nullptr,
              makes_sense(static_cast<DType>(d), Op::premul_sum));
  Random random(9);
  for (InstructionSet isa : instruction_sets()) {
    const std::vector<std::complex<float>> complex{{4, -8}, {1, 2}, {0, 6}};
    std::vector<std::complex<float>> quarters(3);
    multiply_for(DType::complex64, isa)(reinterpret_cast<std::byte*>(quarters.data()),
                                        reinterpret_cast<const std::byte*>(complex.data()), 24, 0.25);
    EXPECT_EQ(quarters, (std::vector<std::complex<float>>{{1, -2}, {0.25, 0.5}, {0, 1.5}}));
    for (int d = 0; d < kDTypes; ++d) {
      const auto dtype = static_cast<DType>(d);
      const Format* format = short_format(dtype);
      if (format == nullptr) continue;
      const auto values = random_elements(dtype, 333, random);
      std::vector<std::byte> halves(values.size()), same = values;
      multiply_for(dtype, isa)(halves.data(), values.data(), values.size(), 0.5);
      multiply_for(dtype, isa)(same.data(), same.data(), same.size(), 1);
      for (std::size_t at = 0; at < values.size(); at += format->bytes()) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, &values[at], format->bytes());
        const std::uint16_t half = encode(decode(bits, *format) * 0.5, *format);
        EXPECT_TRUE(same_value(dtype, &same[at], &values[at])) << name_of(dtype) << " pattern " << bits;
        EXPECT_TRUE(same_value(dtype, &halves[at], reinterpret_cast<const std::byte*>(&half)))
            << name_of(dtype) << " pattern " << bits;
      }
    }
  }
}

TEST(DType, NamesRoundTripAndUnknownOnesAreNone) {
  for (int d = 0; d < kDTypes; ++d)
    EXPECT_EQ(dtype_named(name_of(static_cast<DType>(d))), static_cast<DType>(d));
  for (int o = 0; o < kOps; ++o) EXPECT_EQ(op_named(name_of(static_cast<Op>(o))), static_cast<Op>(o));
  EXPECT_FALSE(dtype_named("float8"));
  EXPECT_FALSE(op_named(""));
}

}  // namespace
}  // namespace hemiola
