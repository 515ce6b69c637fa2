// SPDX-License-Identifier: Apache-2.0
// AVX2, which has neither instruction: groups of 8 elements (4 of 8 bytes) are permuted by tables, one row per pattern of
// bits. No branch on empty words where a group fills a register, as with AVX-512; narrower ones are more work than one.
#include "hemiola/codec/kernels/count.hpp"
#include "hemiola/codec/kernels/ef_bits.hpp"
#include "hemiola/codec/kernels/eight_bits_plainly.hpp"
#include "hemiola/codec/kernels/sets.hpp"
#include "hemiola/codec/kernels/tables.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

namespace hemiola::codec {
namespace {

#define HEMIOLA_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt")))

HEMIOLA_AVX2 __m256i load(const std::byte* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
HEMIOLA_AVX2 __m128i row(const std::array<std::uint8_t, 8>& table) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(table.data()));
}
HEMIOLA_AVX2 std::uint64_t equal_bytes(__m256i a, __m256i b) {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, b)));
}
/// Index i of 8 elements of 2 bytes as indices 2i, 2i + 1 of their bytes; values above 127 stay so, and give
/// zero.
HEMIOLA_AVX2 __m128i byte_pairs(__m128i indices) {
  const __m128i doubled =
      _mm_or_si128(_mm_add_epi8(indices, indices), _mm_and_si128(indices, _mm_set1_epi8(-128)));
  return _mm_unpacklo_epi8(doubled, _mm_or_si128(doubled, _mm_set1_epi8(1)));
}

// Each type: the bitmap's word of 64 elements, and groups of kGroup elements packed and spread. `store` writes at least
// the group's bytes, at most 32.
struct Bytes1 {
  static constexpr unsigned kBytes = 1, kGroup = 8;
  HEMIOLA_AVX2 static std::uint64_t word(const std::byte* x) {
    const __m256i zero = _mm256_setzero_si256();
    return ~(equal_bytes(load(x), zero) | equal_bytes(load(x + 32), zero) << 32);
  }
  HEMIOLA_AVX2 static void compress(const std::byte* from, unsigned set, std::byte* to) {
    const __m128i x = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(x, row(kPacked[set])));
  }
  HEMIOLA_AVX2 static void expand(const std::byte* from, unsigned set, std::byte* to) {
    const __m128i x = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(x, row(kSpread[set])));
  }
};

struct Bytes2 {
  static constexpr unsigned kBytes = 2, kGroup = 8;
  HEMIOLA_AVX2 static std::uint64_t word(const std::byte* x) {
    const __m256i zero = _mm256_setzero_si256();
    std::uint64_t empty = 0;
    for (unsigned j = 0; j < 2; ++j) {
      const __m256i low = _mm256_cmpeq_epi16(load(x + 64 * j), zero);
      const __m256i high = _mm256_cmpeq_epi16(load(x + 64 * j + 32), zero);
      // Packing goes by halves of a register: 0, 2, 1, 3 puts its quarters back in order.
      const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0xd8);
      empty |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(both))) << (32 * j);
    }
    return ~empty;
  }
  HEMIOLA_AVX2 static void compress(const std::byte* from, unsigned set, std::byte* to) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(x, byte_pairs(row(kPacked[set]))));
  }
  HEMIOLA_AVX2 static void expand(const std::byte* from, unsigned set, std::byte* to) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(x, byte_pairs(row(kSpread[set]))));
  }
};

/// kPacked as indices of 4 bytes, `kHalves` of them an element, so that a row is loaded as it is used.
template <std::size_t kRows, unsigned kHalves>
constexpr auto wide_rows() {
  std::array<std::array<std::int32_t, 8>, kRows> wide{};
  for (std::size_t bits = 0; bits < kRows; ++bits)
    for (unsigned i = 0; i < 8; ++i)
      wide[bits][i] = static_cast<std::int32_t>(kPacked[bits][i / kHalves] * kHalves + i % kHalves);
  return wide;
}
alignas(32) constexpr auto kPackedWide4 = wide_rows<256, 1>();
alignas(32) constexpr auto kPackedWide8 = wide_rows<16, 2>();

/// Beyond the last value: any element.
HEMIOLA_AVX2 __m256i permuted(__m256i x, const std::array<std::int32_t, 8>& order) {
  return _mm256_permutevar8x32_epi32(x, _mm256_load_si256(reinterpret_cast<const __m256i*>(order.data())));
}
/// Lanes with an index below 0 are zero.
HEMIOLA_AVX2 __m256i permuted_or_zero(__m256i x, __m256i order) {
  return _mm256_andnot_si256(_mm256_srai_epi32(order, 31), _mm256_permutevar8x32_epi32(x, order));
}

// These fill a register with a group, so it is loaded once, and may be added to the destination.
struct Bytes4 {
  static constexpr unsigned kBytes = 4, kGroup = 8;
  HEMIOLA_AVX2 static unsigned set(__m256i x) {
    const __m256i empty = _mm256_cmpeq_epi32(x, _mm256_setzero_si256());
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(empty))) ^ 0xff;
  }
  HEMIOLA_AVX2 static __m256i packed(__m256i x, unsigned set) { return permuted(x, kPackedWide4[set]); }
  HEMIOLA_AVX2 static __m256i spread(const std::byte* from, unsigned set) {
    return permuted_or_zero(load(from), _mm256_cvtepi8_epi32(row(kSpread[set])));
  }
};
struct Bytes8 {
  static constexpr unsigned kBytes = 8, kGroup = 4;
  HEMIOLA_AVX2 static unsigned set(__m256i x) {
    const __m256i empty = _mm256_cmpeq_epi64(x, _mm256_setzero_si256());
    return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(empty))) ^ 0xf;
  }
  HEMIOLA_AVX2 static __m256i packed(__m256i x, unsigned set) { return permuted(x, kPackedWide8[set]); }
  /// Index i of 4 elements as indices 2i, 2i + 1 of their halves; below 0 where i is.
  HEMIOLA_AVX2 static __m256i spread(const std::byte* from, unsigned set) {
    const __m256i wide = _mm256_cvtepi8_epi64(row(kSpread[set]));
    const __m256i doubled = _mm256_add_epi64(wide, wide);
    return permuted_or_zero(load(from),
                            _mm256_or_si256(_mm256_or_si256(doubled, _mm256_slli_epi64(doubled, 32)),
                                            _mm256_set1_epi64x(1ll << 32)));
  }
};

template <typename T>
constexpr bool kFillsRegister = T::kBytes * T::kGroup == 32;

// The use of an expanded register.
struct Ordinary {
  HEMIOLA_AVX2 static __m256i stored(const std::byte*, __m256i x) { return x; }
};
struct Sum4 {
  HEMIOLA_AVX2 static __m256i stored(const std::byte* at, __m256i x) { return _mm256_add_epi32(load(at), x); }
};
struct Sum8 {
  HEMIOLA_AVX2 static __m256i stored(const std::byte* at, __m256i x) { return _mm256_add_epi64(load(at), x); }
};
// As the runtime adds: NaN has all bits set.
struct SumFloats {
  HEMIOLA_AVX2 static __m256i stored(const std::byte* at, __m256i x) {
    const __m256 sum = _mm256_castsi256_ps(load(at)) + _mm256_castsi256_ps(x);
    return _mm256_castps_si256(_mm256_or_ps(sum, _mm256_cmp_ps(sum, sum, _CMP_UNORD_Q)));
  }
};
struct SumDoubles {
  HEMIOLA_AVX2 static __m256i stored(const std::byte* at, __m256i x) {
    const __m256d sum = _mm256_castsi256_pd(load(at)) + _mm256_castsi256_pd(x);
    return _mm256_castpd_si256(_mm256_or_pd(sum, _mm256_cmp_pd(sum, sum, _CMP_UNORD_Q)));
  }
};

HEMIOLA_AVX2 void store(std::byte* to, __m256i x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), x);
}

template <typename T>
HEMIOLA_AVX2 std::size_t compress(const std::byte* elements, std::size_t words, std::uint64_t* bitmap,
                                  std::byte* values) {
  std::byte* next = values;
  for (std::size_t w = 0; w < words; ++w, elements += 64 * T::kBytes) {
    if constexpr (kFillsRegister<T>) {
      std::uint64_t word = 0;
      for (unsigned first = 0; first < 64; first += T::kGroup) {
        const __m256i x = load(elements + first * T::kBytes);
        const unsigned set = T::set(x);
        word |= std::uint64_t{set} << first;
        store(next, T::packed(x, set));
        next += T::kBytes * static_cast<unsigned>(std::popcount(set));
      }
      bitmap[w] = word;
    } else {
      const std::uint64_t word = T::word(elements);
      bitmap[w] = word;
      if (word == 0) continue;  // eight stores and permutations are more than a mispredicted branch
      for (unsigned first = 0; first < 64; first += T::kGroup) {
        const auto set = static_cast<unsigned>(word >> first & ((1u << T::kGroup) - 1));
        T::compress(elements + first * T::kBytes, set, next);
        next += T::kBytes * static_cast<unsigned>(std::popcount(set));
      }
    }
  }
  return static_cast<std::size_t>(next - values) / T::kBytes;
}

template <typename T, typename Store = Ordinary>
HEMIOLA_AVX2 std::size_t expand(const std::byte* values, const std::uint64_t* bitmap, std::size_t words,
                                std::byte* elements) {
  const std::byte* next = values;
  for (std::size_t w = 0; w < words; ++w, elements += 64 * T::kBytes) {
    const std::uint64_t word = bitmap[w];
    for (unsigned first = 0; first < 64; first += T::kGroup) {
      const auto set = static_cast<unsigned>(word >> first & ((1u << T::kGroup) - 1));
      std::byte* const to = elements + first * T::kBytes;
      if constexpr (kFillsRegister<T>)
        store(to, Store::stored(to, T::spread(next, set)));
      else
        T::expand(next, set, to);
      next += T::kBytes * static_cast<unsigned>(std::popcount(set));
    }
  }
  return static_cast<std::size_t>(next - values) / T::kBytes;
}

/// A word at a time in a buffer that stays in cache, from there around the caches. Bytes in a line that is
/// not full wait at the buffer's front for the next word.
template <typename T>
HEMIOLA_AVX2 std::size_t stream(const std::byte* values, const std::uint64_t* bitmap, std::size_t words,
                                std::byte* elements) {
  constexpr std::size_t kLine = 32, kWord = 64 * T::kBytes;
  if (words == 0) return 0;
  const std::size_t into = reinterpret_cast<std::uintptr_t>(elements) % kLine;
  alignas(kLine) std::array<std::byte, kLine + kWord> buffer;
  std::byte* lines = elements - into;
  std::size_t taken = 0;
  for (std::size_t w = 0; w < words; ++w, lines += kWord) {
    taken += expand<T>(values + taken * T::kBytes, bitmap + w, 1, buffer.data() + into);
    const bool is_cut = w == 0 && into > 0;
    if (is_cut) std::memcpy(elements, buffer.data() + into, kLine - into);
    for (std::size_t at = is_cut ? kLine : 0; at < kWord; at += kLine)
      _mm256_stream_si256(reinterpret_cast<__m256i*>(lines + at), load(buffer.data() + at));
    std::memcpy(buffer.data(), buffer.data() + kWord, into);
  }
  std::memcpy(lines, buffer.data(), into);
  _mm_sfence();
  return taken;
}

HEMIOLA_AVX2 std::size_t count_bits(const std::uint64_t* bitmap, std::size_t words) {
  return count_bits_plainly(bitmap, words);
}

HEMIOLA_AVX2 BitmapCount count(const std::uint64_t* bitmap, std::size_t words) {
  return count_plainly(bitmap, words);
}
HEMIOLA_AVX2 void write_low(const std::uint64_t* bitmap, std::size_t words, unsigned low_bits,
                            std::byte* to) {
  write_low_plainly(bitmap, words, low_bits, to);
}
HEMIOLA_AVX2 void write_upper(const std::uint64_t* bitmap, std::size_t words, unsigned low_bits,
                              std::byte* to) {
  write_upper_plainly(bitmap, words, low_bits, to);
}
HEMIOLA_AVX2 std::size_t read_ef(const EfStreams& from, std::uint64_t* bitmap) {
  return read_ef_plainly(from, bitmap);
}

HEMIOLA_AVX2 void quantize(const float* values, float* rest, std::size_t elements, float factor,
                           float* scales, std::int8_t* codes) {
  quantize_plainly(values, rest, elements, factor, scales, codes);
}
template <bool kAdds>
HEMIOLA_AVX2 void restore(const float* scales, const std::int8_t* codes, std::size_t elements, float factor,
                          float* values) {
  restore_plainly<kAdds>(scales, codes, elements, factor, values);
}

}  // namespace

std::optional<Kernels> avx2_kernels() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt"))
    return std::nullopt;
  return Kernels{.name = "avx2",
                 .compress = {&compress<Bytes1>, &compress<Bytes2>, &compress<Bytes4>, &compress<Bytes8>},
                 .expand = {&expand<Bytes1>, &expand<Bytes2>, &expand<Bytes4>, &expand<Bytes8>},
                 .stream = {&stream<Bytes1>, &stream<Bytes2>, &stream<Bytes4>, &stream<Bytes8>},
                 .sum_integers = {nullptr, nullptr, &expand<Bytes4, Sum4>, &expand<Bytes8, Sum8>},
                 .sum_floats = {nullptr, nullptr, &expand<Bytes4, SumFloats>, &expand<Bytes8, SumDoubles>},
                 .count_bits = &count_bits,
                 .count = &count,
                 .write_low = &write_low,
                 .write_upper = &write_upper,
                 .read_ef = &read_ef,
                 .quantize = &quantize,
                 .restore = &restore<false>,
                 .add_restored = &restore<true>};
}

}  // namespace hemiola::codec

#else

namespace hemiola::codec {

std::optional<Kernels> avx2_kernels() {
  return std::nullopt;
}

}  // namespace hemiola::codec
#endif
