// SPDX-License-Identifier: Apache-2.0
#include "hemiola/codec/format.hpp"

#include <cstring>
#include <string>

#include "hemiola/codec/index/index.hpp"

namespace hemiola::codec {
namespace {

Header header_of(std::span<const std::byte> message) {
  if (message.size() < kHeaderBytes)
    refuse_message("a header of 32 bytes", std::to_string(message.size()) + " bytes");
  Header header;
  std::memcpy(&header, message.data(), sizeof header);
  if (header.magic != kMagic) refuse_message("the first bytes 'HMC1'", "others");
  if (header.format >= kFormats.size())
    refuse_message("a format from 0 to " + std::to_string(kFormats.size() - 1),
                   std::to_string(header.format));
  if (header.dtype >= kDTypeNames.size())
    refuse_message("a dtype from 0 to " + std::to_string(kDTypeNames.size() - 1),
                   std::to_string(header.dtype));
  if (header.reserved != 0) refuse_message("zeros in the header's last 8 bytes", "others");
  return header;
}

void check_counts(const Header& header, DType dtype) {
  if (header.elements % elements_per(dtype) != 0)
    refuse_message("an even number of halves of complex128", std::to_string(header.elements));
  if (header.nonzeros > header.elements)
    refuse_message("at most " + std::to_string(header.elements) + " values", std::to_string(header.nonzeros));
  const auto format = static_cast<Format>(header.format);
  if (format == Format::dense && header.nonzeros != header.elements)
    refuse_message("all " + std::to_string(header.elements) + " elements (dense)",
                   std::to_string(header.nonzeros));
  const bool inverted = header.flags == Header::inverted;
  if (header.flags != 0 && !(inverted && format == Format::ef))
    refuse_message("flags 0, or 1 with ef", std::to_string(header.flags));
  const std::size_t positions = inverted ? header.elements - header.nonzeros : header.nonzeros;
  const unsigned low_bits = format == Format::ef ? ef_low_bits(header.elements, positions) : 0;
  if (header.low_bits != low_bits)
    refuse_message(std::to_string(low_bits) + " low bits for " + std::to_string(positions) + " of " +
                       std::to_string(header.elements),
                   std::to_string(header.low_bits));
}

}  // namespace

std::optional<Format> format_named(std::string_view name) {
  for (const Format format : kFormats)
    if (name_of(format) == name) return format;
  return std::nullopt;
}

MessageInfo inspect(std::span<const std::byte> message) {
  const Header header = header_of(message);
  const auto dtype = static_cast<DType>(header.dtype);
  check_counts(header, dtype);
  if (header.payload_bytes != message.size() - kHeaderBytes)
    refuse_message("a payload of " + std::to_string(header.payload_bytes) + " bytes, as the header says",
                   std::to_string(message.size() - kHeaderBytes));
  if (header.payload_bytes < std::size_t{header.nonzeros} * element_bytes(dtype))
    refuse_message(
        std::to_string(header.nonzeros) + " values of " + std::to_string(element_bytes(dtype)) + " bytes",
        "a payload of " + std::to_string(header.payload_bytes));
  return {.format = static_cast<Format>(header.format),
          .inverted = header.flags == Header::inverted,
          .dtype = dtype,
          .elements = header.elements,
          .nonzeros = header.nonzeros,
          .bytes = message.size()};
}

}  // namespace hemiola::codec
