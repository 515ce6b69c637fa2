// SPDX-License-Identifier: Apache-2.0
// AVX-512: elements of 4 and 8 bytes with its foundation, of 1 and 2 with VBMI2.
//
// Values are compressed in a register and stored whole: the instruction that compresses into memory is microcoded on
// Zen 4, 4 to 8 times as slow. Both instructions merge into a zero that the compiler cannot see through: their zeroing
// forms wait for the register's old content on Zen 4 and 5. No branch on empty words: at 98 to 99.9 % zeros, mispredicted
// ones cost up to half.
#include "hemiola/codec/kernels/eight_bits_plainly.hpp"
#include "hemiola/codec/kernels/sets.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <type_traits>

namespace hemiola::codec {
namespace {

#define HEMIOLA_WIDE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,bmi,bmi2,popcnt")))
#define HEMIOLA_NARROW \
  __attribute__((      \
      target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq,bmi,bmi2,popcnt")))

struct Bytes1 {
  static constexpr unsigned kBytes = 1;
  HEMIOLA_NARROW static std::uint64_t set(__m512i x) { return _mm512_test_epi8_mask(x, x); }
  HEMIOLA_NARROW static __m512i compress(__m512i zero, std::uint64_t mask, __m512i x) {
    return _mm512_mask_compress_epi8(zero, mask, x);
  }
  HEMIOLA_NARROW static __m512i expand(__m512i zero, std::uint64_t mask, __m512i x) {
    return _mm512_mask_expand_epi8(zero, mask, x);
  }
};
struct Bytes2 {
  static constexpr unsigned kBytes = 2;
  HEMIOLA_NARROW static std::uint64_t set(__m512i x) { return _mm512_test_epi16_mask(x, x); }
  HEMIOLA_NARROW static __m512i compress(__m512i zero, std::uint64_t mask, __m512i x) {
    return _mm512_mask_compress_epi16(zero, static_cast<__mmask32>(mask), x);
  }
  HEMIOLA_NARROW static __m512i expand(__m512i zero, std::uint64_t mask, __m512i x) {
    return _mm512_mask_expand_epi16(zero, static_cast<__mmask32>(mask), x);
  }
};
struct Bytes4 {
  static constexpr unsigned kBytes = 4;
  HEMIOLA_WIDE static std::uint64_t set(__m512i x) { return _mm512_test_epi32_mask(x, x); }
  HEMIOLA_WIDE static __m512i compress(__m512i zero, std::uint64_t mask, __m512i x) {
    return _mm512_mask_compress_epi32(zero, static_cast<__mmask16>(mask), x);
  }
  HEMIOLA_WIDE static __m512i expand(__m512i zero, std::uint64_t mask, __m512i x) {
    return _mm512_mask_expand_epi32(zero, static_cast<__mmask16>(mask), x);
  }
};
struct Bytes8 {
  static constexpr unsigned kBytes = 8;
  HEMIOLA_WIDE static std::uint64_t set(__m512i x) { return _mm512_test_epi64_mask(x, x); }
  HEMIOLA_WIDE static __m512i compress(__m512i zero, std::uint64_t mask, __m512i x) {
    return _mm512_mask_compress_epi64(zero, static_cast<__mmask8>(mask), x);
  }
  HEMIOLA_WIDE static __m512i expand(__m512i zero, std::uint64_t mask, __m512i x) {
    return _mm512_mask_expand_epi64(zero, static_cast<__mmask8>(mask), x);
  }
};

/// Bits of the bitmap's word that belong to its vector `j`, of `T::kBytes` vectors.
template <typename T>
constexpr unsigned shift_of(unsigned j) {
  return j * (64 / T::kBytes) % 64;
}
template <typename T>
constexpr std::uint64_t kVectorBits = ~0ull >> (64 - 64 / T::kBytes);

// The use of 64 expanded bytes.
struct Ordinary {
  HEMIOLA_WIDE static void store(std::byte* to, __m512i x) { _mm512_storeu_si512(to, x); }
};
struct AroundCaches {
  HEMIOLA_WIDE static void store(std::byte* to, __m512i x) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), x);
  }
};
/// Vectors that begin so many times 4 bytes into a line, cut and joined to lines: the end of one, then the begin of the next.
class LineShift {
 public:
  HEMIOLA_WIDE explicit LineShift(unsigned words)
      : from_(_mm512_add_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                               _mm512_set1_epi32(static_cast<int>(16 - words)))),
        begin_(static_cast<__mmask16>((1u << words) - 1)) {}

  HEMIOLA_WIDE __m512i joined(__m512i before, __m512i x) const {
    return _mm512_permutex2var_epi32(before, from_, x);
  }
  /// Of the first line, and of the last, only our own part.
  HEMIOLA_WIDE void store_end(std::byte* line, __m512i before, __m512i x) const {
    _mm512_mask_storeu_epi32(line, static_cast<__mmask16>(~begin_), joined(before, x));
  }
  HEMIOLA_WIDE void store_begin(std::byte* line, __m512i before) const {
    _mm512_mask_storeu_epi32(line, begin_, joined(before, before));
  }

 private:
  __m512i from_;
  __mmask16 begin_;
};
struct Sum1 {
  HEMIOLA_WIDE static __m512i sum(__m512i a, __m512i b) { return _mm512_add_epi8(a, b); }
};
struct Sum2 {
  HEMIOLA_WIDE static __m512i sum(__m512i a, __m512i b) { return _mm512_add_epi16(a, b); }
};
struct Sum4 {
  HEMIOLA_WIDE static __m512i sum(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }
};
struct Sum8 {
  HEMIOLA_WIDE static __m512i sum(__m512i a, __m512i b) { return _mm512_add_epi64(a, b); }
};
// As the runtime adds: NaN has all bits set.
struct SumFloats {
  HEMIOLA_WIDE static __m512i sum(__m512i a, __m512i b) {
    const __m512 sum = _mm512_castsi512_ps(a) + _mm512_castsi512_ps(b);
    return _mm512_mask_set1_epi32(_mm512_castps_si512(sum), _mm512_cmp_ps_mask(sum, sum, _CMP_UNORD_Q), -1);
  }
};
struct SumDoubles {
  HEMIOLA_WIDE static __m512i sum(__m512i a, __m512i b) {
    const __m512d sum = _mm512_castsi512_pd(a) + _mm512_castsi512_pd(b);
    return _mm512_mask_set1_epi64(_mm512_castpd_si512(sum), _mm512_cmp_pd_mask(sum, sum, _CMP_UNORD_Q), -1);
  }
};
/// Added to the destination.
template <typename Sum>
struct Added {
  HEMIOLA_WIDE static void store(std::byte* to, __m512i x) {
    _mm512_storeu_si512(to, Sum::sum(_mm512_loadu_si512(to), x));
  }
};

// The attribute cannot depend on a template parameter, hence the macro: the same loops for both sets.
#define HEMIOLA_LOOPS(Name, ATTRIBUTE)                                                              \
  struct Name {                                                                                     \
    ATTRIBUTE static __m512i opaque_zero() {                                                        \
      __m512i zero = _mm512_setzero_si512();                                                        \
      asm volatile("" : "+v"(zero));                                                                \
      return zero;                                                                                  \
    }                                                                                               \
    template <typename T>                                                                           \
    ATTRIBUTE static std::size_t compress(const std::byte* elements, std::size_t words,             \
                                          std::uint64_t* bitmap, std::byte* values) {               \
      const __m512i zero = opaque_zero();                                                           \
      std::byte* next = values;                                                                     \
      for (std::size_t w = 0; w < words; ++w, elements += 64 * T::kBytes) {                         \
        __m512i x[T::kBytes];                                                                       \
        std::uint64_t set[T::kBytes];                                                               \
        std::uint64_t word = 0;                                                                     \
        for (unsigned j = 0; j < T::kBytes; ++j) {                                                  \
          x[j] = _mm512_loadu_si512(elements + 64 * j);                                             \
          set[j] = T::set(x[j]);                                                                    \
          word |= set[j] << shift_of<T>(j);                                                         \
        }                                                                                           \
        bitmap[w] = word;                                                                           \
        for (unsigned j = 0; j < T::kBytes; ++j) {                                                  \
          _mm512_storeu_si512(next, T::compress(zero, set[j], x[j]));                               \
          next += T::kBytes * static_cast<unsigned>(std::popcount(set[j]));                         \
        }                                                                                           \
      }                                                                                             \
      return static_cast<std::size_t>(next - values) / T::kBytes;                                   \
    }                                                                                               \
    template <typename T, typename Store>                                                           \
    ATTRIBUTE static std::size_t expand(const std::byte* values, const std::uint64_t* bitmap,       \
                                        std::size_t words, std::byte* elements) {                   \
      const __m512i zero = opaque_zero();                                                           \
      const std::byte* next = values;                                                               \
      for (std::size_t w = 0; w < words; ++w, elements += 64 * T::kBytes) {                         \
        for (unsigned j = 0; j < T::kBytes; ++j) {                                                  \
          const std::uint64_t set = bitmap[w] >> shift_of<T>(j) & kVectorBits<T>;                   \
          Store::store(elements + 64 * j, T::expand(zero, set, _mm512_loadu_si512(next)));          \
          next += T::kBytes * static_cast<unsigned>(std::popcount(set));                            \
        }                                                                                           \
      }                                                                                             \
      if constexpr (std::is_same_v<Store, AroundCaches>) _mm_sfence();                              \
      return static_cast<std::size_t>(next - values) / T::kBytes;                                   \
    }                                                                                               \
    template <typename T>                                                                           \
    ATTRIBUTE static std::size_t stream(const std::byte* values, const std::uint64_t* bitmap,       \
                                        std::size_t words, std::byte* elements) {                   \
      const auto into = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(elements) % 64);     \
      if (into == 0) return expand<T, AroundCaches>(values, bitmap, words, elements);               \
      if (into % 4 != 0 || words == 0) return expand<T, Ordinary>(values, bitmap, words, elements); \
      const LineShift shift(into / 4);                                                              \
      const __m512i zero = opaque_zero();                                                           \
      const std::byte* next = values;                                                               \
      std::byte* line = elements - into;                                                            \
      __m512i before = zero;                                                                        \
      for (std::size_t w = 0; w < words; ++w)                                                       \
        for (unsigned j = 0; j < T::kBytes; ++j, line += 64) {                                      \
          const std::uint64_t set = bitmap[w] >> shift_of<T>(j) & kVectorBits<T>;                   \
          const __m512i x = T::expand(zero, set, _mm512_loadu_si512(next));                         \
          if (line < elements)                                                                      \
            shift.store_end(line, before, x);                                                       \
          else                                                                                      \
            AroundCaches::store(line, shift.joined(before, x));                                     \
          before = x;                                                                               \
          next += T::kBytes * static_cast<unsigned>(std::popcount(set));                            \
        }                                                                                           \
      shift.store_begin(line, before);                                                              \
      _mm_sfence();                                                                                 \
      return static_cast<std::size_t>(next - values) / T::kBytes;                                   \
    }                                                                                               \
  };

HEMIOLA_LOOPS(WideLoops, HEMIOLA_WIDE)
HEMIOLA_LOOPS(NarrowLoops, HEMIOLA_NARROW)
#undef HEMIOLA_LOOPS

HEMIOLA_NARROW BitmapCount count(const std::uint64_t* bitmap, std::size_t words) {
  BitmapCount count;
  __m512i bits = _mm512_setzero_si512();
  for (std::size_t w = 0; w < words; w += 8) {
    const __mmask8 within = words - w < 8 ? static_cast<__mmask8>((1u << (words - w)) - 1) : __mmask8{0xff};
    const __m512i x = _mm512_maskz_loadu_epi64(within, bitmap + w);
    bits = _mm512_add_epi64(bits, _mm512_popcnt_epi64(x));
    count.bytes += static_cast<std::size_t>(std::popcount(std::uint64_t{_mm512_test_epi8_mask(x, x)}));
    count.words += static_cast<std::size_t>(std::popcount(unsigned{_mm512_test_epi64_mask(x, x)}));
  }
  alignas(64) std::array<std::uint64_t, 8> lanes;
  _mm512_store_si512(lanes.data(), bits);
  for (const std::uint64_t lane : lanes) count.bits += lane;
  return count;
}

HEMIOLA_NARROW std::size_t count_bits(const std::uint64_t* bitmap, std::size_t words) {
  return count(bitmap, words).bits;
}

bool has_foundation() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

/// Puts the kernels for elements of so many bytes into a set.
template <typename Loops, typename T, typename Sum>
void put(Kernels& kernels) {
  constexpr auto kLog = static_cast<std::size_t>(std::bit_width(T::kBytes) - 1);
  kernels.compress[kLog] = &Loops::template compress<T>;
  kernels.expand[kLog] = &Loops::template expand<T, Ordinary>;
  kernels.stream[kLog] = &Loops::template stream<T>;
  kernels.sum_integers[kLog] = &Loops::template expand<T, Added<Sum>>;
}

HEMIOLA_WIDE void quantize(const float* values, float* rest, std::size_t elements, float factor,
                           float* scales, std::int8_t* codes) {
  quantize_plainly(values, rest, elements, factor, scales, codes);
}
template <bool kAdds>
HEMIOLA_WIDE void restore(const float* scales, const std::int8_t* codes, std::size_t elements, float factor,
                          float* values) {
  restore_plainly<kAdds>(scales, codes, elements, factor, values);
}

}  // namespace

std::optional<Kernels> avx512f_kernels() {
  auto kernels = avx2_kernels();
  if (!kernels || !has_foundation()) return std::nullopt;
  kernels->name = "avx512f";
  kernels->quantize = &quantize;
  kernels->restore = &restore<false>;
  kernels->add_restored = &restore<true>;
  put<WideLoops, Bytes4, Sum4>(*kernels);
  put<WideLoops, Bytes8, Sum8>(*kernels);
  kernels->sum_floats[2] = &WideLoops::expand<Bytes4, Added<SumFloats>>;
  kernels->sum_floats[3] = &WideLoops::expand<Bytes8, Added<SumDoubles>>;
  return kernels;
}

std::optional<Kernels> avx512_kernels() {
  auto kernels = avx512f_kernels();
  if (!kernels || !__builtin_cpu_supports("avx512vbmi2") || !__builtin_cpu_supports("avx512vpopcntdq"))
    return std::nullopt;
  kernels->name = "avx512";
  put<NarrowLoops, Bytes1, Sum1>(*kernels);
  put<NarrowLoops, Bytes2, Sum2>(*kernels);
  kernels->count_bits = &count_bits;
  kernels->count = &count;
  put_avx512_ef(*kernels);
  return kernels;
}

}  // namespace hemiola::codec

#else

namespace hemiola::codec {

std::optional<Kernels> avx512f_kernels() {
  return std::nullopt;
}
std::optional<Kernels> avx512_kernels() {
  return std::nullopt;
}

}  // namespace hemiola::codec
#endif
