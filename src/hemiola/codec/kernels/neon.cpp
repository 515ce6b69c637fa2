// SPDX-License-Identifier: Apache-2.0
// NEON: as AVX2, groups of elements permuted by tables; TBL gives zero for an index that is out of range.
#include "hemiola/codec/kernels/count.hpp"
#include "hemiola/codec/kernels/ef_bits.hpp"
#include "hemiola/codec/kernels/eight_bits_plainly.hpp"
#include "hemiola/codec/kernels/sets.hpp"
#include "hemiola/codec/kernels/tables.hpp"

#if defined(__aarch64__)
#include <arm_neon.h>

namespace hemiola::codec {
namespace {

std::uint8_t* bytes(std::byte* at) {
  return reinterpret_cast<std::uint8_t*>(at);
}
const std::uint8_t* bytes(const std::byte* at) {
  return reinterpret_cast<const std::uint8_t*>(at);
}

/// Indices of elements twice as wide as those that `indices` counts in: i becomes 2i, 2i + 1.
uint8x16_t pairs(uint8x8_t indices) {
  const uint8x8_t doubled = vorr_u8(vshl_n_u8(indices, 1), vand_u8(indices, vdup_n_u8(kNone)));
  const uint8x8_t second = vorr_u8(doubled, vdup_n_u8(1));
  return vcombine_u8(vzip1_u8(doubled, second), vzip2_u8(doubled, second));
}

/// Bit i of the result: whether lane i of 8 is all ones.
unsigned bits_of(uint8x8_t lanes) {
  const uint8x8_t weights = {1, 2, 4, 8, 16, 32, 64, 128};
  return vaddv_u8(vand_u8(lanes, weights));
}

// Each type: which of 8 elements are not zero, and groups of kGroup elements permuted by byte indices.
struct Bytes1 {
  static constexpr unsigned kBytes = 1, kGroup = 8;
  static unsigned set_of_8(const std::byte* x) {
    const uint8x8_t v = vld1_u8(bytes(x));
    return bits_of(vtst_u8(v, v));
  }
  static void permute(const std::byte* from, uint8x8_t row, std::byte* to) {
    vst1_u8(bytes(to), vtbl1_u8(vld1_u8(bytes(from)), row));
  }
};
struct Bytes2 {
  static constexpr unsigned kBytes = 2, kGroup = 8;
  static unsigned set_of_8(const std::byte* x) {
    const uint16x8_t v = vreinterpretq_u16_u8(vld1q_u8(bytes(x)));
    return bits_of(vmovn_u16(vtstq_u16(v, v)));
  }
  static void permute(const std::byte* from, uint8x8_t row, std::byte* to) {
    vst1q_u8(bytes(to), vqtbl1q_u8(vld1q_u8(bytes(from)), pairs(row)));
  }
};
struct Bytes4 {
  static constexpr unsigned kBytes = 4, kGroup = 4;
  static unsigned set_of_8(const std::byte* x) {
    const uint32x4_t a = vreinterpretq_u32_u8(vld1q_u8(bytes(x)));
    const uint32x4_t b = vreinterpretq_u32_u8(vld1q_u8(bytes(x) + 16));
    return bits_of(vmovn_u16(vcombine_u16(vmovn_u32(vtstq_u32(a, a)), vmovn_u32(vtstq_u32(b, b)))));
  }
  static void permute(const std::byte* from, uint8x8_t row, std::byte* to) {
    const uint8x16_t twice = pairs(vget_low_u8(pairs(row)));
    vst1q_u8(bytes(to), vqtbl1q_u8(vld1q_u8(bytes(from)), twice));
  }
};
struct Bytes8 {
  static constexpr unsigned kBytes = 8, kGroup = 2;
  static unsigned set_of_8(const std::byte* x) {
    unsigned set = 0;
    for (unsigned i = 0; i < 8; i += 2) {
      const uint64x2_t v = vreinterpretq_u64_u8(vld1q_u8(bytes(x) + 8 * i));
      const uint64x2_t lanes = vtstq_u64(v, v);
      set |= static_cast<unsigned>((vgetq_lane_u64(lanes, 0) & 1) << i | (vgetq_lane_u64(lanes, 1) & 2) << i);
    }
    return set;
  }
  static void permute(const std::byte* from, uint8x8_t row, std::byte* to) {
    const uint8x16_t twice = pairs(vget_low_u8(pairs(vget_low_u8(pairs(row)))));
    vst1q_u8(bytes(to), vqtbl1q_u8(vld1q_u8(bytes(from)), twice));
  }
};

template <typename T>
std::size_t compress(const std::byte* elements, std::size_t words, std::uint64_t* bitmap, std::byte* values) {
  std::byte* next = values;
  for (std::size_t w = 0; w < words; ++w) {
    std::uint64_t word = 0;
    for (unsigned first = 0; first < 64; first += 8, elements += 8 * T::kBytes) {
      const unsigned set = T::set_of_8(elements);
      word |= static_cast<std::uint64_t>(set) << first;
      for (unsigned group = 0; group < 8; group += T::kGroup) {
        const unsigned part = set >> group & ((1u << T::kGroup) - 1);
        T::permute(elements + group * T::kBytes, vld1_u8(kPacked[part].data()), next);
        next += T::kBytes * static_cast<unsigned>(std::popcount(part));
      }
    }
    bitmap[w] = word;
  }
  return static_cast<std::size_t>(next - values) / T::kBytes;
}

template <typename T>
std::size_t expand(const std::byte* values, const std::uint64_t* bitmap, std::size_t words,
                   std::byte* elements) {
  const std::byte* next = values;
  for (std::size_t w = 0; w < words; ++w)
    for (unsigned first = 0; first < 64; first += T::kGroup, elements += T::kGroup * T::kBytes) {
      const auto part = static_cast<unsigned>(bitmap[w] >> first & ((1u << T::kGroup) - 1));
      T::permute(next, vld1_u8(kSpread[part].data()), elements);
      next += T::kBytes * static_cast<unsigned>(std::popcount(part));
    }
  return static_cast<std::size_t>(next - values) / T::kBytes;
}

std::size_t count_bits(const std::uint64_t* bitmap, std::size_t words) {
  return count_bits_plainly(bitmap, words);
}
BitmapCount count(const std::uint64_t* bitmap, std::size_t words) {
  return count_plainly(bitmap, words);
}
void write_low(const std::uint64_t* bitmap, std::size_t words, unsigned low_bits, std::byte* to) {
  write_low_plainly(bitmap, words, low_bits, to);
}
void write_upper(const std::uint64_t* bitmap, std::size_t words, unsigned low_bits, std::byte* to) {
  write_upper_plainly(bitmap, words, low_bits, to);
}
std::size_t read_ef(const EfStreams& from, std::uint64_t* bitmap) {
  return read_ef_plainly(from, bitmap);
}

void quantize(const float* values, float* rest, std::size_t elements, float factor, float* scales,
              std::int8_t* codes) {
  quantize_plainly(values, rest, elements, factor, scales, codes);
}
template <bool kAdds>
void restore(const float* scales, const std::int8_t* codes, std::size_t elements, float factor,
             float* values) {
  restore_plainly<kAdds>(scales, codes, elements, factor, values);
}

}  // namespace

std::optional<Kernels> neon_kernels() {
  const std::array<Expand, 4> expands{&expand<Bytes1>, &expand<Bytes2>, &expand<Bytes4>, &expand<Bytes8>};
  return Kernels{.name = "neon",
                 .compress = {&compress<Bytes1>, &compress<Bytes2>, &compress<Bytes4>, &compress<Bytes8>},
                 .expand = expands,
                 .stream = expands,
                 .sum_integers = {},
                 .sum_floats = {},
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

std::optional<Kernels> neon_kernels() {
  return std::nullopt;
}

}  // namespace hemiola::codec
#endif
