// SPDX-License-Identifier: Apache-2.0
#include "hemiola/codec/speed.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <vector>

#include "hemiola/base/huge_pages.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/codec/decoder.hpp"
#include "hemiola/codec/eight_bits.hpp"
#include "hemiola/codec/encoder.hpp"

namespace hemiola::codec {
namespace {

constexpr std::size_t kElements = 1 << 17;  ///< of a slice
/// With other data each, so that nothing is learnt of one; in all more than caches hold from one use to the next.
constexpr std::size_t kSlices = 48;
constexpr std::uint32_t kResolution = 1U << 24;  ///< of densities

void add(std::byte* dst, const std::byte* a, const std::byte* b, std::size_t bytes) {
  auto* sum = reinterpret_cast<float*>(dst);
  const auto* left = reinterpret_cast<const float*>(a);
  const auto* right = reinterpret_cast<const float*>(b);
  for (std::size_t i = 0; i < bytes / sizeof(float); ++i) sum[i] = left[i] + right[i];
}

/// One slice, and its outputs.
struct Slice {
  float* elements;
  float* decoded;
  std::span<std::byte> room;
  std::size_t bytes = 0;
};

/// In huge pages, as large arrays of NumPy are.
struct Memory {
  static constexpr std::size_t kMessageWords = kElements + kElements / 8;  ///< of `coo`, the longest

  LargeVector<float> elements = LargeVector<float>(kSlices * kElements);
  LargeVector<float> decoded = LargeVector<float>(kSlices * kElements);
  LargeVector<std::uint64_t> messages = LargeVector<std::uint64_t>(kSlices * kMessageWords);

  std::vector<Slice> slices() {
    std::vector<Slice> all;
    for (std::size_t i = 0; i < kSlices; ++i)
      all.push_back({&elements[i * kElements], &decoded[i * kElements],
                     std::as_writable_bytes(std::span(&messages[i * kMessageWords], kMessageWords))});
    return all;
  }
};

template <typename Work>
double median_s(std::vector<Slice>& slices, const Work& work) {
  std::vector<double> taken;
  for (Slice& slice : slices) {
    const auto begin = std::chrono::steady_clock::now();
    work(slice);
    taken.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::ranges::nth_element(taken, taken.begin() + static_cast<std::ptrdiff_t>(kSlices / 2));
  return taken[kSlices / 2];
}

}  // namespace

Speeds measure_speeds(double density, std::optional<Format> format) {
  Memory memory;
  Random random(0);
  for (float& element : memory.elements)
    if (static_cast<double>(random.below(kResolution)) < density * kResolution) element = 1;
  std::vector<Slice> slices = memory.slices();
  Encoder encoder;
  Decoder decoder;
  const auto open = [&](const Slice& slice) {
    decoder.open(slice.room.first(slice.bytes), DType::float32, kElements);
    return reinterpret_cast<std::byte*>(slice.decoded);
  };
  const double compress_s = median_s(slices, [&](Slice& slice) {
    slice.bytes = encode(encoder, DType::float32, reinterpret_cast<const std::byte*>(slice.elements),
                         kElements, format, slice.room);
  });
  const double decompress_s =
      median_s(slices, [&](const Slice& slice) { decoder.decode(open(slice), Destination::beyond_caches); });
  const double add_s =
      median_s(slices, [&](const Slice& slice) { decoder.combine(Op::sum, add, open(slice)); });
  const double bytes = kElements * sizeof(float);
  return {bytes / compress_s, bytes / decompress_s, bytes / add_s};
}

Speeds measure_eight_bit_speeds() {
  Memory memory;
  Random random(0);
  for (float& element : memory.elements) element = static_cast<float>(random.below(kResolution));
  std::vector<Slice> slices = memory.slices();
  const auto open = [](const Slice& slice) {
    return open_eight_bits(slice.room.first(eight_bit_bytes(kElements)), kElements);
  };
  const double write_s = median_s(slices, [](const Slice& slice) {
    write_eight_bits(slice.elements, slice.decoded, kElements, 1, slice.room.data());
  });
  const double restore_s = median_s(slices, [&](const Slice& slice) { open(slice).restore(slice.decoded); });
  const double add_s = median_s(slices, [&](const Slice& slice) { open(slice).add(slice.decoded); });
  const double bytes = kElements * sizeof(float);
  return {bytes / write_s, bytes / restore_s, bytes / add_s};
}

}  // namespace hemiola::codec
