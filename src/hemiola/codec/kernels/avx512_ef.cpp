// SPDX-License-Identifier: Apache-2.0
// Elias-Fano positions with AVX-512 VBMI2 and BMI2. They are written a word of the bitmap at a time, and read
// a word of the upper bits at a time, where a bucket (all positions of the same upper bits) is 8 to 64
// elements.
//
// To read, each upper bit gets a byte: the low bits of its position and one more, or 0 where a bucket ends. In a bucket these
// must grow. From that each upper bit gets a lane as wide as a bucket, with the bit of its element or 0, and the sum of all
// lanes before it. Sums at the ends of buckets, next to one another, less the one before each, are the
// bitmap: a bucket's elements are different bits, so their sum is all of them, even after an overflow before.
#include "hemiola/codec/kernels/ef_bits.hpp"
#include "hemiola/codec/kernels/sets.hpp"

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // of gcc 12's own header (its bug 105593)
#endif
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace hemiola::codec {
namespace {

#define HEMIOLA_NARROW \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt")))

constexpr std::uint64_t kEachByte = 0x0101010101010101ull;

HEMIOLA_NARROW __m512i opaque_zero() {
  __m512i zero = _mm512_setzero_si512();
  asm volatile("" : "+v"(zero));
  return zero;
}

template <typename Value>
HEMIOLA_NARROW __m512i vector_of(Value value_of_byte) {
  alignas(64) std::array<std::uint8_t, 64> bytes;
  for (unsigned i = 0; i < 64; ++i) bytes[i] = static_cast<std::uint8_t>(value_of_byte(i));
  return _mm512_load_si512(bytes.data());
}

/// Up to 6 low bits are a place's own in its word. Places of the bits of many words, byte by byte, then 8 at a time, which are
/// whole bytes of low bits.
HEMIOLA_NARROW void write_low(const std::uint64_t* bitmap, std::size_t words, unsigned low_bits,
                              std::byte* to) {
  if (low_bits > 6) return write_low_plainly(bitmap, words, low_bits, to);
  constexpr std::size_t kWords = 32;
  alignas(64) std::array<std::byte, kWords * 64 + 8 + 64> places;
  const __m512i zero = opaque_zero(), all = vector_of([](unsigned i) { return i; });
  const std::uint64_t mask = kEachByte * ((1u << low_bits) - 1);
  const auto eight_at = [&](std::size_t place) {
    std::uint64_t eight;
    std::memcpy(&eight, places.data() + place, sizeof eight);
    return eight;
  };
  std::size_t count = 0;  // below 8 between two turns
  std::memset(places.data(), 0, 8);
  for (std::size_t first = 0; first < words; first += kWords) {
    for (std::size_t w = first; w < std::min(first + kWords, words); ++w) {
      _mm512_storeu_si512(places.data() + count, _mm512_mask_compress_epi8(zero, bitmap[w], all));
      count += static_cast<std::size_t>(std::popcount(bitmap[w]));
    }
    std::size_t done = 0;
    for (; done + 8 <= count; done += 8, to += low_bits) {
      const std::uint64_t low = _pext_u64(eight_at(done), mask);
      std::memcpy(to, &low, sizeof low);
    }
    const std::uint64_t rest = eight_at(done);
    std::memcpy(places.data(), &rest, sizeof rest);
    count -= done;
  }
  const std::uint64_t last[2] = {_pext_u64(eight_at(0), mask) & ((1ull << count * low_bits) - 1), 0};
  std::memcpy(to, last, sizeof last);
}

/// Buckets of 2 to 32 elements, 32 elements at a time: a bit of room behind each bucket, then only the ones are kept and
/// these bits.
HEMIOLA_NARROW void write_upper(const std::uint64_t* bitmap, std::size_t words, unsigned low_bits,
                                std::byte* to) {
  if (low_bits >= 6) return write_wide_buckets(bitmap, words, low_bits, to);
  if (low_bits == 0) return write_upper_plainly(bitmap, words, low_bits, to);
  const unsigned width = 1u << low_bits, buckets = 32 / width;
  std::uint64_t ends = 0;
  for (unsigned b = 0; b < buckets; ++b) ends |= 1ull << (b * (width + 1) + width);
  BitWriter writer(to);
  const auto upper = [&](std::uint64_t bits) HEMIOLA_NARROW {
    const std::uint64_t spread = _pdep_u64(bits, ~ends);
    return _pext_u64(spread, spread | ends);
  };
  for (std::size_t w = 0; w < words; ++w) {
    const std::uint64_t half = bitmap[w] & 0xffff'ffff;
    const auto all = static_cast<unsigned>(std::popcount(bitmap[w])) + 2 * buckets;
    const auto of_half = static_cast<unsigned>(std::popcount(half)) + buckets;
    const std::uint64_t first = upper(half), second = upper(bitmap[w] >> 32);
    if (all <= BitWriter::kMost) {
      writer.put(first | second << of_half, all);
    } else {
      writer.put(first, of_half);
      writer.put(second, all - of_half);
    }
  }
  writer.finish();
}

// Lanes as wide as a bucket. `spread`: of bytes with low bits and one more each, the elements' bits; `before`: from the sums of
// each 16 bytes the sums from the first lane on.
struct Bucket8 {
  using Lane = std::uint8_t;
  HEMIOLA_NARROW static __m512i spread(__m512i lows, unsigned) {
    const __m512i bits = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 1, 2, 4, 8, 16, 32, 64, static_cast<char>(128), 0, 0, 0, 0, 0, 0, 0));
    return _mm512_shuffle_epi8(bits, lows);
  }
  HEMIOLA_NARROW static __m512i add(__m512i a, __m512i b) { return _mm512_add_epi8(a, b); }
  HEMIOLA_NARROW static __m512i subtract(__m512i a, __m512i b) { return _mm512_sub_epi8(a, b); }
  HEMIOLA_NARROW static __m512i pack(__m512i zero, std::uint64_t kept, __m512i x) {
    return _mm512_mask_compress_epi8(zero, kept, x);
  }
};
struct Bucket16 {
  using Lane = std::uint16_t;
  HEMIOLA_NARROW static __m512i spread(__m512i lows, unsigned part) {
    const __m256i here = part == 0 ? _mm512_castsi512_si256(lows) : _mm512_extracti64x4_epi64(lows, 1);
    const __m512i one = _mm512_set1_epi16(1);
    return _mm512_sllv_epi16(one, _mm512_sub_epi16(_mm512_cvtepu8_epi16(here), one));
  }
  HEMIOLA_NARROW static __m512i add(__m512i a, __m512i b) { return _mm512_add_epi16(a, b); }
  HEMIOLA_NARROW static __m512i subtract(__m512i a, __m512i b) { return _mm512_sub_epi16(a, b); }
  HEMIOLA_NARROW static __m512i pack(__m512i zero, std::uint64_t kept, __m512i x) {
    return _mm512_mask_compress_epi16(zero, static_cast<__mmask32>(kept), x);
  }
};
struct Bucket32 {
  using Lane = std::uint32_t;
  HEMIOLA_NARROW static __m512i spread(__m512i lows, unsigned part) {
    alignas(64) std::array<std::byte, 64> bytes;
    _mm512_store_si512(bytes.data(), lows);
    const __m128i here = _mm_load_si128(reinterpret_cast<const __m128i*>(bytes.data() + 16 * part));
    const __m512i one = _mm512_set1_epi32(1);
    return _mm512_sllv_epi32(one, _mm512_sub_epi32(_mm512_cvtepu8_epi32(here), one));
  }
  HEMIOLA_NARROW static __m512i add(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }
  HEMIOLA_NARROW static __m512i subtract(__m512i a, __m512i b) { return _mm512_sub_epi32(a, b); }
  HEMIOLA_NARROW static __m512i pack(__m512i zero, std::uint64_t kept, __m512i x) {
    return _mm512_mask_compress_epi32(zero, static_cast<__mmask16>(kept), x);
  }
};
struct Bucket64 {
  using Lane = std::uint64_t;
  HEMIOLA_NARROW static __m512i spread(__m512i lows, unsigned part) {
    alignas(64) std::array<std::byte, 64> bytes;
    _mm512_store_si512(bytes.data(), lows);
    const __m128i here = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes.data() + 8 * part));
    const __m512i one = _mm512_set1_epi64(1);
    return _mm512_sllv_epi64(one, _mm512_sub_epi64(_mm512_cvtepu8_epi64(here), one));
  }
  HEMIOLA_NARROW static __m512i add(__m512i a, __m512i b) { return _mm512_add_epi64(a, b); }
  HEMIOLA_NARROW static __m512i subtract(__m512i a, __m512i b) { return _mm512_sub_epi64(a, b); }
  HEMIOLA_NARROW static __m512i pack(__m512i zero, std::uint64_t kept, __m512i x) {
    return _mm512_mask_compress_epi64(zero, static_cast<__mmask8>(kept), x);
  }
};

/// Of each lane the sum of all up to it.
template <typename Bucket>
class RunningSums {
 public:
  HEMIOLA_NARROW RunningSums() : running_(_mm512_setzero_si512()) {
    constexpr unsigned kBytes = sizeof(typename Bucket::Lane);
    last_ = vector_of([](unsigned i) { return 64 - kBytes + i % kBytes; });
    last_of_neighbour_ = vector_of([](unsigned i) { return i / 32 * 32 + 16 - kBytes + i % kBytes; });
    last_of_half_ = vector_of([](unsigned i) { return 32 - kBytes + i % kBytes; });
  }
  HEMIOLA_NARROW __m512i sum(__m512i x) {
    constexpr unsigned kBytes = sizeof(typename Bucket::Lane);
    if constexpr (kBytes <= 1) x = Bucket::add(x, _mm512_bslli_epi128(x, 1));
    if constexpr (kBytes <= 2) x = Bucket::add(x, _mm512_bslli_epi128(x, 2));
    if constexpr (kBytes <= 4) x = Bucket::add(x, _mm512_bslli_epi128(x, 4));
    x = Bucket::add(x, _mm512_bslli_epi128(x, 8));
    constexpr std::uint64_t kOddQuarters = 0xffff'0000'ffff'0000, kUpperHalf = 0xffff'ffff'0000'0000;
    x = Bucket::add(x, _mm512_maskz_permutexvar_epi8(kOddQuarters, last_of_neighbour_, x));
    x = Bucket::add(x, _mm512_maskz_permutexvar_epi8(kUpperHalf, last_of_half_, x));
    x = Bucket::add(x, running_);
    running_ = _mm512_permutexvar_epi8(last_, x);
    return x;
  }
  HEMIOLA_NARROW typename Bucket::Lane all() const {
    return static_cast<typename Bucket::Lane>(_mm_cvtsi128_si64(_mm512_castsi512_si128(running_)));
  }

 private:
  __m512i running_, last_, last_of_neighbour_, last_of_half_;
};

/// The low bits of 64 positions, a byte each.
class LowBits {
 public:
  HEMIOLA_NARROW explicit LowBits(unsigned low_bits)
      : mask_(_mm512_set1_epi8(static_cast<char>((1u << low_bits) - 1))) {
    bytes_ = vector_of([low_bits](unsigned i) { return i / 8 * low_bits + i % 8; });
    shifts_ = vector_of([low_bits](unsigned i) { return i % 8 * low_bits; });
  }
  /// From a bit on; 64 bytes can be read there.
  HEMIOLA_NARROW __m512i at(const std::byte* low, std::size_t bit) const {
    const __m512i eights = _mm512_permutexvar_epi8(bytes_, _mm512_loadu_si512(low + bit / 8));
    const __m512i shifts = _mm512_add_epi8(shifts_, _mm512_set1_epi8(static_cast<char>(bit % 8)));
    return _mm512_and_si512(_mm512_multishift_epi64_epi8(shifts, eights), mask_);
  }

 private:
  __m512i mask_, bytes_, shifts_;
};

/// Byte i is byte i - 1 of `x`, and byte 0 the last one of the lanes before.
HEMIOLA_NARROW __m512i one_later(__m512i x, __m512i before) {
  return _mm512_alignr_epi8(x, _mm512_alignr_epi64(x, before, 6), 15);
}

/// Takes from each of so many lanes the one before it.
template <typename Bucket>
HEMIOLA_NARROW void subtract_former(std::byte* sums, std::size_t lanes) {
  constexpr std::size_t kBytes = sizeof(typename Bucket::Lane), kLanes = 64 / kBytes;
  while (lanes > 0) {  // from the end, so that lanes before this one are a sum still
    const std::size_t count = std::min(lanes, kLanes), first = lanes - count;
    const std::uint64_t here = ~0ull >> (64 - count * kBytes);
    std::byte* const at = sums + first * kBytes;
    const __m512i former = _mm512_maskz_loadu_epi8(first == 0 ? here << kBytes : here, at - kBytes);
    _mm512_mask_storeu_epi8(at, here, Bucket::subtract(_mm512_maskz_loadu_epi8(here, at), former));
    lanes = first;
  }
}

/// Buckets of as many elements as a lane has bits, as long as whole vectors can be read and written.
template <typename Bucket>
HEMIOLA_NARROW std::size_t read_buckets(const EfStreams& from, std::uint64_t* bitmap) {
  using Lane = typename Bucket::Lane;
  constexpr unsigned kLanes = 64 / sizeof(Lane), kParts = 64 / kLanes;
  constexpr std::uint64_t kPart = ~0ull >> (64 - kLanes);
  auto* const bytes = reinterpret_cast<std::byte*>(bitmap);
  const std::size_t room = words_of(from.elements) * sizeof *bitmap;
  const LowBits low_bits(from.low_bits);
  const __m512i zero = opaque_zero(), one = _mm512_set1_epi8(1);
  RunningSums<Bucket> sums;
  __m512i before = _mm512_setzero_si512();
  EfProgress done;
  std::size_t buckets = 0;
  std::uint64_t wrong = 0;
  for (; done.words < from.upper_words; ++done.words) {
    const std::size_t low_bit = done.rank * from.low_bits;
    if (low_bit / 8 + 64 > from.low_bytes || (buckets + 64) * sizeof(Lane) + 64 > room) break;
    std::uint64_t upper;
    std::memcpy(&upper, from.upper + done.words * sizeof upper, sizeof upper);
    const __m512i lows = _mm512_add_epi8(low_bits.at(from.low, low_bit), one);
    const __m512i spread = _mm512_mask_expand_epi8(zero, upper, lows);
    wrong |= _mm512_mask_cmple_epu8_mask(upper, spread, one_later(spread, before));
    before = spread;
    for (unsigned part = 0; part < kParts; ++part) {
      const std::uint64_t ends = ~upper >> part * kLanes % 64 & kPart;
      const __m512i at_ends = Bucket::pack(zero, ends, sums.sum(Bucket::spread(spread, part)));
      _mm512_storeu_si512(bytes + buckets * sizeof(Lane), at_ends);
      buckets += static_cast<std::size_t>(std::popcount(ends));
    }
    done.rank += static_cast<std::size_t>(std::popcount(upper));
  }
  if (wrong != 0) return read_ef_plainly(from, bitmap);  // to say which
  if (done.words == 0) return read_ef_plainly(from, bitmap);
  std::byte* const open = bytes + buckets * sizeof(Lane);  // the bucket that has not ended
  Lane last = 0;
  if (buckets > 0) std::memcpy(&last, open - sizeof last, sizeof last);
  const auto rest = static_cast<Lane>(sums.all() - last);
  subtract_former<Bucket>(bytes, buckets);
  std::memset(open, 0, 64);
  std::memcpy(open, &rest, sizeof rest);
  done.least = (buckets << from.low_bits) + static_cast<std::size_t>(std::bit_width(rest));
  return read_ef_plainly(from, bitmap, done);
}

HEMIOLA_NARROW std::size_t read_ef(const EfStreams& from, std::uint64_t* bitmap) {
  switch (from.low_bits) {
    case 3:
      return read_buckets<Bucket8>(from, bitmap);
    case 4:
      return read_buckets<Bucket16>(from, bitmap);
    case 5:
      return read_buckets<Bucket32>(from, bitmap);
    case 6:
      return read_buckets<Bucket64>(from, bitmap);
    default:
      return read_ef_plainly(from, bitmap);
  }
}

}  // namespace

void put_avx512_ef(Kernels& kernels) {
  kernels.write_low = &write_low;
  kernels.write_upper = &write_upper;
  kernels.read_ef = &read_ef;
}

}  // namespace hemiola::codec
#endif
