// SPDX-License-Identifier: Apache-2.0
#include "hemiola/codec/index/index.hpp"

#include <algorithm>

#include "hemiola/base/error.hpp"

namespace hemiola::codec {

const Index& index_of(Format format) {
  switch (format) {
    case Format::pici:
      return kPiciIndex;
    case Format::ef:
      return kEfIndex;
    case Format::hier:
      return kHierIndex;
    case Format::coo:
      return kCooIndex;
    case Format::dense:
    case Format::int8:
      break;
  }
  HEMIOLA_CHECK(false, "messages of all elements have no index");
}

void refuse_message(const std::string& expected, const std::string& found) {
  throw FormatError("coded message: expected " + expected + ", found " + found +
                    ". It was damaged, cut short, or is no message of this version; nothing of it was used.");
}

void expect_bytes(Format format, std::span<const std::byte> index, std::size_t bytes) {
  if (index.size() != bytes)
    refuse_message("an index of " + std::to_string(bytes) + " bytes (" + std::string(name_of(format)) + ")",
                   std::to_string(index.size()));
}

void expect_zeros(Format format, std::span<const std::byte> padding) {
  if (std::any_of(padding.begin(), padding.end(), [](std::byte b) { return b != std::byte{0}; }))
    refuse_message("zeros where the index (" + std::string(name_of(format)) + ") is filled up",
                   "other bytes");
}

void expect_no_bits_beyond(Format format, const std::uint64_t* bitmap, std::size_t elements,
                           std::size_t words) {
  std::size_t w = elements / kWordElements;
  if (w < words && elements % kWordElements != 0) {
    if (bitmap[w] >> (elements % kWordElements) != 0)
      refuse_message("positions (" + std::string(name_of(format)) + ") below " + std::to_string(elements),
                     "one beyond");
    ++w;
  }
  for (; w < words; ++w)
    if (bitmap[w] != 0)
      refuse_message("positions (" + std::string(name_of(format)) + ") below " + std::to_string(elements),
                     "one beyond");
}

}  // namespace hemiola::codec
