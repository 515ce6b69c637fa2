// AVX2, which has neither instruction: groups of 8 elements (4 of 8 bytes) are permuted by tables, one row per pattern of
// bits.
#include "hemiola/codec/kernels/count.hpp"
#include "hemiola/codec/kernels/ef_bits.hpp"
#include "hemiola/codec/kernels/sets.hpp"
#include "hemiola/codec/kernels/tables.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

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
/// Index i of 8 elements of 2 bytes as indices 2i, 2i + 1 of their bytes; what is above 127 stays so, and gives zero.
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

struct Bytes4 {
  static constexpr unsigned kBytes = 4, kGroup = 8;
  HEMIOLA_AVX2 static std::uint64_t word(const std::byte* x) {
    const __m256i zero = _mm256_setzero_si256();
    std::uint64_t empty = 0;
    for (unsigned j = 0; j < 8; ++j) {
      const __m256i equal = _mm256_cmpeq_epi32(load(x + 32 * j), zero);
      empty |= static_cast<std::uint64_t>(_mm256_movemask_ps(_mm256_castsi256_ps(equal))) << (8 * j);
    }
    return ~empty;
  }
  HEMIOLA_AVX2 static void compress(const std::byte* from, unsigned set, std::byte* to) {
    const __m256i order = _mm256_cvtepu8_epi32(row(kPacked[set]));  // beyond the last value: any element
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permutevar8x32_epi32(load(from), order));
  }
  HEMIOLA_AVX2 static void expand(const std::byte* from, unsigned set, std::byte* to) {
    const __m256i order = _mm256_cvtepi8_epi32(row(kSpread[set]));
    const __m256i x = _mm256_permutevar8x32_epi32(load(from), order);
    const __m256i unset = _mm256_srai_epi32(order, 31);  // what stays zero has an index below 0
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_andnot_si256(unset, x));
  }
};

struct Bytes8 {
  static constexpr unsigned kBytes = 8, kGroup = 4;
  /// Index i of 4 elements of 8 bytes as indices 2i, 2i + 1 of their halves; below 0 where i is.
  HEMIOLA_AVX2 static __m256i halves(__m128i indices) {
    const __m256i wide = _mm256_cvtepi8_epi64(indices);
    const __m256i doubled = _mm256_add_epi64(wide, wide);
    return _mm256_or_si256(_mm256_or_si256(doubled, _mm256_slli_epi64(doubled, 32)),
                           _mm256_set1_epi64x(1ll << 32));
  }
  HEMIOLA_AVX2 static std::uint64_t word(const std::byte* x) {
    const __m256i zero = _mm256_setzero_si256();
    std::uint64_t empty = 0;
    for (unsigned j = 0; j < 16; ++j) {
      const __m256i equal = _mm256_cmpeq_epi64(load(x + 32 * j), zero);
      empty |= static_cast<std::uint64_t>(_mm256_movemask_pd(_mm256_castsi256_pd(equal))) << (4 * j);
    }
    return ~empty;
  }
  HEMIOLA_AVX2 static void compress(const std::byte* from, unsigned set, std::byte* to) {
    const __m256i order = halves(row(kPacked[set]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permutevar8x32_epi32(load(from), order));
  }
  HEMIOLA_AVX2 static void expand(const std::byte* from, unsigned set, std::byte* to) {
    const __m256i order = halves(row(kSpread[set]));
    const __m256i x = _mm256_permutevar8x32_epi32(load(from), order);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_andnot_si256(_mm256_srai_epi32(order, 31), x));
  }
};

template <typename T>
HEMIOLA_AVX2 std::size_t compress(const std::byte* elements, std::size_t words, std::uint64_t* bitmap,
                                  std::byte* values) {
  std::byte* next = values;
  for (std::size_t w = 0; w < words; ++w, elements += 64 * T::kBytes) {
    const std::uint64_t word = T::word(elements);
    bitmap[w] = word;
    if (word == 0) continue;  // eight stores and permutations are more than a mispredicted branch
    for (unsigned first = 0; first < 64; first += T::kGroup) {
      const auto set = static_cast<unsigned>(word >> first & ((1u << T::kGroup) - 1));
      T::compress(elements + first * T::kBytes, set, next);
      next += T::kBytes * static_cast<unsigned>(std::popcount(set));
    }
  }
  return static_cast<std::size_t>(next - values) / T::kBytes;
}

template <typename T>
HEMIOLA_AVX2 std::size_t expand(const std::byte* values, const std::uint64_t* bitmap, std::size_t words,
                                std::byte* elements) {
  const std::byte* next = values;
  for (std::size_t w = 0; w < words; ++w, elements += 64 * T::kBytes) {
    const std::uint64_t word = bitmap[w];
    for (unsigned first = 0; first < 64; first += T::kGroup) {
      const auto set = static_cast<unsigned>(word >> first & ((1u << T::kGroup) - 1));
      T::expand(next, set, elements + first * T::kBytes);
      next += T::kBytes * static_cast<unsigned>(std::popcount(set));
    }
  }
  return static_cast<std::size_t>(next - values) / T::kBytes;
}

/// A word at a time in a buffer that stays in cache, from there around the caches.
template <typename T>
HEMIOLA_AVX2 std::size_t stream(const std::byte* values, const std::uint64_t* bitmap, std::size_t words,
                                std::byte* elements) {
  alignas(32) std::array<std::byte, 64 * T::kBytes> buffer;
  std::size_t taken = 0;
  for (std::size_t w = 0; w < words; ++w, elements += buffer.size()) {
    taken += expand<T>(values + taken * T::kBytes, bitmap + w, 1, buffer.data());
    for (std::size_t at = 0; at < buffer.size(); at += 32)
      _mm256_stream_si256(reinterpret_cast<__m256i*>(elements + at), load(buffer.data() + at));
  }
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

}  // namespace

std::optional<Kernels> avx2_kernels() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt"))
    return std::nullopt;
  return Kernels{.name = "avx2",
                 .compress = {&compress<Bytes1>, &compress<Bytes2>, &compress<Bytes4>, &compress<Bytes8>},
                 .expand = {&expand<Bytes1>, &expand<Bytes2>, &expand<Bytes4>, &expand<Bytes8>},
                 .stream = {&stream<Bytes1>, &stream<Bytes2>, &stream<Bytes4>, &stream<Bytes8>},
                 .sum_integers = {},
                 .sum_floats = {},
                 .count_bits = &count_bits,
                 .count = &count,
                 .write_low = &write_low,
                 .write_upper = &write_upper,
                 .read_ef = &read_ef};
}

}  // namespace hemiola::codec

#else

namespace hemiola::codec {

std::optional<Kernels> avx2_kernels() {
  return std::nullopt;
}

}  // namespace hemiola::codec
#endif
