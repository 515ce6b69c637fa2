#include "hemiola/codec/clean.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace hemiola::codec {
namespace {

/// -0.0, or a NaN with a bit that is not set. Booleans: what is neither 0 nor 1 becomes 1.
template <typename Bits, int mantissa_bits>
bool is_unclean(Bits bits) {
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  constexpr auto kMagnitude = static_cast<Bits>(kSign - 1);
  constexpr auto kInfinity = static_cast<Bits>(kMagnitude & ~((Bits{1} << mantissa_bits) - 1));
  constexpr auto kNaN = static_cast<Bits>(~Bits{0});
  return (bits == kSign) | ((static_cast<Bits>(bits & kMagnitude) > kInfinity) & (bits != kNaN));
}

template <typename Bits, bool (*unclean)(Bits)>
bool all_clean(const std::byte* elements, std::size_t bytes) {
  constexpr std::size_t kBlock = 256;  // looked at without a branch
  const std::size_t count = bytes / sizeof(Bits);
  for (std::size_t first = 0; first < count; first += kBlock) {
    Bits found = 0;
    for (std::size_t i = first; i < std::min(first + kBlock, count); ++i) {
      Bits bits;
      std::memcpy(&bits, elements + i * sizeof bits, sizeof bits);
      found = static_cast<Bits>(found | static_cast<Bits>(unclean(bits)));
    }
    if (found != 0) return false;
  }
  return true;
}

/// The one NaN has two signs.
bool is_unclean_float8_e4m3fn(std::uint8_t bits) {
  return bits == 0x80 || bits == 0x7f;
}

bool is_unclean_boolean(std::uint8_t bits) {
  return bits > 1;
}

}  // namespace

bool is_clean(DType dtype, const std::byte* elements, std::size_t bytes) {
  switch (dtype) {
    case DType::float16:
      return all_clean<std::uint16_t, is_unclean<std::uint16_t, 10>>(elements, bytes);
    case DType::bfloat16:
      return all_clean<std::uint16_t, is_unclean<std::uint16_t, 7>>(elements, bytes);
    case DType::float32:
    case DType::complex64:
      return all_clean<std::uint32_t, is_unclean<std::uint32_t, 23>>(elements, bytes);
    case DType::float64:
    case DType::complex128:
      return all_clean<std::uint64_t, is_unclean<std::uint64_t, 52>>(elements, bytes);
    case DType::float8_e4m3fn:
      return all_clean<std::uint8_t, is_unclean_float8_e4m3fn>(elements, bytes);
    case DType::float8_e5m2:
      return all_clean<std::uint8_t, is_unclean<std::uint8_t, 2>>(elements, bytes);
    case DType::boolean:
      return all_clean<std::uint8_t, is_unclean_boolean>(elements, bytes);
    default:  // integers, and the float8 that have no -0.0
      return true;
  }
}

bool flushes_subnormals() {
#if defined(__x86_64__)
  constexpr unsigned kFlush = 1u << 15, kDenormalsAreZeros = 1u << 6;
  return (_mm_getcsr() & (kFlush | kDenormalsAreZeros)) != 0;
#elif defined(__aarch64__)
  std::uint64_t control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  constexpr std::uint64_t kFlush = 1u << 24, kFlushHalf = 1u << 19;
  return (control & (kFlush | kFlushHalf)) != 0;
#else
  return true;  // nobody has looked
#endif
}

bool may_skip(DType dtype, Op op, bool accumulator_is_clean) {
  if (!ignores_zero(op)) return false;
  if (is_float(dtype) || is_complex(dtype)) return accumulator_is_clean && !flushes_subnormals();
  return dtype != DType::boolean || accumulator_is_clean;
}

}  // namespace hemiola::codec
