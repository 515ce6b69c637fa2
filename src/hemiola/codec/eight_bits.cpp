// SPDX-License-Identifier: Apache-2.0
#include "hemiola/codec/eight_bits.hpp"

#include <bit>
#include <cstring>
#include <limits>
#include <string>

#include "hemiola/codec/format.hpp"
#include "hemiola/codec/index/index.hpp"

namespace hemiola::codec {
namespace {

constexpr std::size_t blocks_of(std::size_t elements) {
  return (elements + kBlockElements - 1) / kBlockElements;
}

Header header_of(std::size_t elements) {
  return {.format = static_cast<std::uint8_t>(Format::int8),
          .dtype = static_cast<std::uint8_t>(DType::float32),
          .elements = static_cast<std::uint32_t>(elements),
          .nonzeros = static_cast<std::uint32_t>(elements),
          .payload_bytes = eight_bit_bytes(elements) - kHeaderBytes};
}

/// Zero, a normal number of which 127 are finite, or the mark of a block that had an infinity or a NaN.
bool is_scale(float scale) {
  const auto bits = std::bit_cast<std::uint32_t>(scale);
  if (bits == 0 || bits == std::bit_cast<std::uint32_t>(kEveryBit)) return true;
  return scale >= std::numeric_limits<float>::min() && scale * 127 <= std::numeric_limits<float>::max();
}

}  // namespace

std::size_t eight_bit_bytes(std::size_t elements) {
  return kHeaderBytes + blocks_of(elements) * sizeof(float) + elements;
}

void write_eight_bits(const float* values, float* rest, std::size_t elements, float factor,
                      std::byte* message) {
  const Header header = header_of(elements);
  std::memcpy(message, &header, sizeof header);
  std::byte* const scales = message + kHeaderBytes;
  best_kernels().quantize(values, rest, elements, factor, reinterpret_cast<float*>(scales),
                          reinterpret_cast<std::int8_t*>(scales + blocks_of(elements) * sizeof(float)));
}

bool are_eight_bits(std::span<const std::byte> message) {
  return message.size() >= kHeaderBytes &&
         message[offsetof(Header, format)] == static_cast<std::byte>(Format::int8);
}

EightBits open_eight_bits(std::span<const std::byte> message, std::size_t elements) {
  if (message.size() != eight_bit_bytes(elements))
    refuse_message(std::to_string(eight_bit_bytes(elements)) + " bytes for " + std::to_string(elements) +
                       " elements of eight bits",
                   std::to_string(message.size()));
  const Header header = header_of(elements);
  if (std::memcmp(message.data(), &header, sizeof header) != 0)
    refuse_message("the header of " + std::to_string(elements) + " float32 as eight bits", "another");
  const std::byte* const payload = message.data() + kHeaderBytes;
  const std::size_t blocks = blocks_of(elements);
  const EightBits opened{reinterpret_cast<const float*>(payload),
                         reinterpret_cast<const std::int8_t*>(payload + blocks * sizeof(float)), elements};
  for (std::size_t b = 0; b < blocks; ++b)
    if (!is_scale(opened.scales[b]))
      refuse_message("a scale of 0, of a normal float, or the mark of a block that is not finite",
                     std::to_string(opened.scales[b]) + " in block " + std::to_string(b));
  return opened;
}

}  // namespace hemiola::codec
