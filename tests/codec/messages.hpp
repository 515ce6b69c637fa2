// SPDX-License-Identifier: Apache-2.0
// Messages for tests: encoded with room around them, opened and decoded.
#pragma once

#include "hemiola/base/bytes.hpp"
#include "hemiola/codec/decoder.hpp"
#include "hemiola/codec/encoder.hpp"

namespace hemiola::codec_tests {

using namespace codec;

inline constexpr DType kOfWidth[] = {DType::uint8, DType::int16, DType::float32, DType::float64};

inline Bytes encoded(DType dtype, const Bytes& elements, std::optional<Format> format = std::nullopt,
                     const Kernels& kernels = best_kernels()) {
  Encoder encoder(kernels);
  const std::size_t count = elements.size() / element_bytes(dtype);
  Bytes message(room_for(dtype, count, format), std::byte{0xa5});  // what was there before shows nowhere
  message.resize(encode(encoder, dtype, elements.data(), count, format, message));
  return message;
}

inline Bytes decoded(const Bytes& message, DType dtype, std::size_t count,
                     const Kernels& kernels = best_kernels(), Destination destination = Destination::cached) {
  Decoder decoder(kernels);
  decoder.open(message, dtype, count);
  Bytes out(count * element_bytes(dtype), std::byte{0xee});
  decoder.decode(out.data(), destination);
  return out;
}

}  // namespace hemiola::codec_tests
