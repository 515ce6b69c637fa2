// SPDX-License-Identifier: Apache-2.0
#include "hemiola/codec/encoder.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/rounding.hpp"

namespace hemiola::codec {
namespace {

/// More than any index of so many elements takes: each grows with the nonzeros, `ef` up to half of them.
std::size_t most_index_bytes(Format format, std::size_t elements) {
  const BitmapCount all{.bits = elements, .bytes = (elements + 7) / 8, .words = words_of(elements)};
  if (format == Format::dense) return 0;
  if (format != Format::ef) return index_of(format).bytes(elements, all);
  return elements / 4 + elements / 8 + elements / 8192 + 64;
}

}  // namespace

std::size_t room_for(DType dtype, std::size_t elements, std::optional<Format> format) {
  return capacity(dtype, elements) + most_index_bytes(format.value_or(Format::dense), elements) +
         kIndexAlign + kSlackBytes;
}

void Encoder::scan(DType dtype, const std::byte* elements, std::size_t count, std::span<std::byte> message) {
  if (count > kMostElements)
    throw ArgumentError("elements: expected at most " + std::to_string(kMostElements) +
                        " in one message, found " + std::to_string(count) + ". Encode slices of the array.");
  HEMIOLA_CHECK(message.size() >= room_for(dtype, count), "no room for the message");
  HEMIOLA_CHECK(reinterpret_cast<std::uintptr_t>(message.data()) % kIndexAlign == 0,
                "the message begins unaligned");
  dtype_ = dtype, elements_ = elements, message_ = message;
  words_.resize(padded_words(count));
  const Compress compress = kernels_.compress[kernel_of(dtype)];
  const std::size_t width = element_bytes(dtype), whole = count / kWordElements;
  std::byte* values = message.data() + kHeaderBytes;
  std::size_t nonzeros = compress(elements, whole, words_.data(), values);
  if (count % kWordElements != 0) {
    std::array<std::byte, kWordElements * 8> last{};
    std::memcpy(last.data(), elements + whole * kWordElements * width, count % kWordElements * width);
    std::array<std::byte, kWordElements * 8 + kSlackBytes> packed;
    const std::size_t found = compress(last.data(), 1, words_.data() + whole, packed.data());
    std::memcpy(values + nonzeros * width, packed.data(), found * width);
    nonzeros += found;
  }
  std::fill(words_.begin() + static_cast<std::ptrdiff_t>(words_of(count)), words_.end(), 0);
  bitmap_ = {
      .words = words_.data(), .elements = count, .count = kernels_.count(words_.data(), words_of(count))};
  HEMIOLA_CHECK(bitmap_.count.bits == nonzeros, "as many bits as values");
}

std::size_t Encoder::value_bytes() const {
  return rounded_up(bitmap_.count.bits * element_bytes(dtype_), kIndexAlign);
}

Encoder::IndexSize Encoder::index_size(Format format) const {
  const std::size_t bytes = index_of(format).bytes(bitmap_.elements, bitmap_.count);
  if (format != Format::ef) return {bytes, false};
  const std::size_t of_zeros =
      kEfIndex.bytes(bitmap_.elements, {.bits = bitmap_.elements - bitmap_.count.bits});
  return {std::min(bytes, of_zeros), of_zeros < bytes};
}

std::size_t Encoder::bytes_as(Format format) const {
  if (format == Format::dense) return capacity(dtype_, bitmap_.elements);
  return kHeaderBytes + value_bytes() + index_size(format).bytes;
}

Format Encoder::smallest() const {
  return *std::min_element(kChoices.begin(), kChoices.end(),
                           [this](Format a, Format b) { return bytes_as(a) < bytes_as(b); });
}

double Encoder::seconds(Format format, const Costs& costs) const {
  const std::size_t positions =
      format == Format::ef ? std::min(nonzeros(), bitmap_.elements - nonzeros()) : 0;
  const auto plain = static_cast<double>(bitmap_.elements * element_bytes(dtype_));
  return std::max(static_cast<double>(bytes_as(format)) * costs.byte_s,
                  plain * costs.plain_byte_s + static_cast<double>(positions) * costs.position_s);
}

Format Encoder::fastest(const Costs& costs) const {
  const Format least = smallest();
  if (least == Format::dense) return least;
  return *std::min_element(kChoices.begin() + 1, kChoices.end(), [&](Format a, Format b) {
    return std::pair(seconds(a, costs), bytes_as(a)) < std::pair(seconds(b, costs), bytes_as(b));
  });
}

void Encoder::invert() {
  const std::size_t words = words_of(bitmap_.elements);
  for (std::size_t w = 0; w < words; ++w) words_[w] = ~words_[w];
  if (const std::size_t last = bitmap_.elements % kWordElements; last != 0)
    words_[words - 1] &= (1ull << last) - 1;
  bitmap_.count = {.bits = bitmap_.elements - bitmap_.count.bits};
}

std::size_t Encoder::write(Format format) {
  const std::size_t bytes = bytes_as(format), nonzeros = bitmap_.count.bits;
  HEMIOLA_CHECK(bytes + kSlackBytes <= message_.size(), "no room for this format");
  Header header{.format = static_cast<std::uint8_t>(format),
                .dtype = static_cast<std::uint8_t>(dtype_),
                .elements = static_cast<std::uint32_t>(bitmap_.elements),
                .nonzeros = static_cast<std::uint32_t>(nonzeros),
                .payload_bytes = bytes - kHeaderBytes};
  std::byte* values = message_.data() + kHeaderBytes;
  if (format == Format::dense) {
    header.nonzeros = header.elements;
    if (nonzeros < bitmap_.elements) std::memcpy(values, elements_, bytes - kHeaderBytes);
  } else if (bitmap_.elements > 0) {
    const std::size_t unpadded = nonzeros * element_bytes(dtype_), end = value_bytes();
    std::memset(values + unpadded, 0, end - unpadded);
    if (index_size(format).inverted) {
      header.flags = Header::inverted;
      invert();
    }
    if (format == Format::ef)
      header.low_bits = static_cast<std::uint8_t>(ef_low_bits(bitmap_.elements, bitmap_.count.bits));
    index_of(format).write(bitmap_, kernels_, scratch_, values + end);
  }
  std::memcpy(message_.data(), &header, sizeof header);
  return bytes;
}

std::size_t encode(Encoder& encoder, DType dtype, const std::byte* elements, std::size_t count,
                   std::optional<Format> format, std::span<std::byte> message) {
  encoder.scan(dtype, elements, count, message);
  return encoder.write(format.value_or(encoder.smallest()));
}

}  // namespace hemiola::codec
