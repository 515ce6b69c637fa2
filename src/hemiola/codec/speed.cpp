#include "hemiola/codec/speed.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "hemiola/base/random.hpp"
#include "hemiola/codec/decoder.hpp"
#include "hemiola/codec/encoder.hpp"

namespace hemiola::codec {
namespace {

constexpr std::size_t kElements = 1 << 17;  ///< of a slice
/// With other data each, so that nothing is learnt of one, and more of them than caches hold.
constexpr int kSlices = 16;
constexpr std::uint32_t kResolution = 1U << 24;  ///< of densities

void add(std::byte* dst, const std::byte* a, const std::byte* b, std::size_t bytes) {
  auto* sum = reinterpret_cast<float*>(dst);
  const auto* left = reinterpret_cast<const float*>(a);
  const auto* right = reinterpret_cast<const float*>(b);
  for (std::size_t i = 0; i < bytes / sizeof(float); ++i) sum[i] = left[i] + right[i];
}

/// One slice, and what is made of it.
struct Slice {
  std::vector<float> elements = std::vector<float>(kElements);
  std::vector<float> decoded = std::vector<float>(kElements);
  std::vector<std::uint64_t> message = std::vector<std::uint64_t>(
      (room_for(DType::float32, kElements, Format::coo) + 7) / sizeof(std::uint64_t));
  std::size_t bytes = 0;

  std::span<std::byte> room() { return std::as_writable_bytes(std::span(message)); }
};

template <typename Work>
double median_s(std::vector<Slice>& slices, const Work& work) {
  std::vector<double> taken;
  for (Slice& slice : slices) {
    const auto begin = std::chrono::steady_clock::now();
    work(slice);
    taken.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::ranges::nth_element(taken, taken.begin() + kSlices / 2);
  return taken[kSlices / 2];
}

}  // namespace

Speeds measure_speeds(double density, std::optional<Format> format) {
  std::vector<Slice> slices(kSlices);
  Random random(0);
  for (Slice& slice : slices)
    for (float& element : slice.elements)
      if (static_cast<double>(random.below(kResolution)) < density * kResolution) element = 1;
  Encoder encoder;
  Decoder decoder;
  const auto open = [&](Slice& slice) {
    decoder.open(slice.room().first(slice.bytes), DType::float32, kElements);
    return reinterpret_cast<std::byte*>(slice.decoded.data());
  };
  const double compress_s = median_s(slices, [&](Slice& slice) {
    slice.bytes = encode(encoder, DType::float32, reinterpret_cast<const std::byte*>(slice.elements.data()),
                         kElements, format, slice.room());
  });
  const double decompress_s = median_s(slices, [&](Slice& slice) { decoder.decode(open(slice)); });
  const double add_s = median_s(slices, [&](Slice& slice) { decoder.combine(Op::sum, add, open(slice)); });
  const double bytes = kElements * sizeof(float);
  return {bytes / compress_s, bytes / decompress_s, bytes / add_s};
}

}  // namespace hemiola::codec
