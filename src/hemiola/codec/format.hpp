// SPDX-License-Identifier: Apache-2.0
// A coded message: a header of 32 bytes, the elements that are not zero in their order, then an index of
// their places. No offsets: every length follows from format, elements and nonzeros, so that a receiver can
// check each. All numbers are little-endian; docs/reference/formats/coded.md has the bytes.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "hemiola/base/dtype.hpp"

namespace hemiola::codec {

enum class Format : std::uint8_t { dense, pici, ef, hier, coo, int8 };

inline constexpr std::array<std::string_view, 6> kFormatNames = {"dense", "pici", "ef",
                                                                 "hier",  "coo",  "int8"};
/// Those that lose nothing. `int8` has a reader and a writer of its own: see eight_bits.hpp.
inline constexpr std::array<Format, 5> kFormats = {Format::dense, Format::pici, Format::ef, Format::hier,
                                                   Format::coo};
/// The format of a message where nobody names one. `coo` is no choice: it is at most 8 bytes smaller than
/// `ef`, for a handful of values.
inline constexpr std::array kChoices = {Format::dense, Format::pici, Format::ef, Format::hier};

constexpr std::string_view name_of(Format format) {
  return kFormatNames[static_cast<std::size_t>(format)];
}
/// The format of that name; nothing for any other text.
std::optional<Format> format_named(std::string_view name);

/// Codecs move elements of 1, 2, 4 or 8 bytes: one of complex128 is two.
constexpr std::size_t element_bytes(std::size_t dtype_bytes) {
  return dtype_bytes < 8 ? dtype_bytes : 8;
}
constexpr std::size_t element_bytes(DType dtype) {
  return element_bytes(bytes_of(dtype));
}
constexpr std::size_t elements_per(DType dtype) {
  return bytes_of(dtype) / element_bytes(dtype);
}
/// log2 of `element_bytes`: where the kernels of its size stand.
constexpr std::size_t kernel_of(DType dtype) {
  return static_cast<std::size_t>(std::bit_width(element_bytes(dtype)) - 1);
}

inline constexpr std::uint32_t kMagic = 0x31434d48;  // "HMC1"
inline constexpr std::size_t kMostElements = 0xffffffff;
/// Index and message end at multiples of this.
inline constexpr std::size_t kIndexAlign = 8;

struct Header {
  enum Flags : std::uint8_t { inverted = 1 };

  std::uint32_t magic = kMagic;
  std::uint8_t format = 0;
  std::uint8_t dtype = 0;
  std::uint8_t low_bits = 0;  ///< of `ef`: how many of each position are stored as they are
  std::uint8_t flags = 0;     ///< inverted: the index has the places of the zeros
  std::uint32_t elements = 0;
  std::uint32_t nonzeros = 0;  ///< values stored: all elements where the format is dense
  std::uint64_t payload_bytes = 0;
  std::uint64_t reserved = 0;
};
inline constexpr std::size_t kHeaderBytes = 32;
static_assert(sizeof(Header) == kHeaderBytes);

/// A message's description of itself.
struct MessageInfo {
  Format format = Format::dense;
  bool inverted = false;
  DType dtype = DType::uint8;
  std::size_t elements = 0;  ///< of `element_bytes(dtype)` each
  std::size_t nonzeros = 0;
  std::size_t bytes = 0;  ///< header included

  bool operator==(const MessageInfo&) const = default;
};

/// Reads a header and checks it against itself and the message's length, as far as that goes without the index. Throws
/// FormatError.
MessageInfo inspect(std::span<const std::byte> message);

/// The room that a receiver provides: no message of so many elements, in the smallest format, is larger.
constexpr std::size_t capacity(DType dtype, std::size_t elements) {
  return kHeaderBytes + elements * element_bytes(dtype);
}

}  // namespace hemiola::codec
