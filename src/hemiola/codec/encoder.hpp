// SPDX-License-Identifier: Apache-2.0
// From an array to a message. One scan finds the nonzero elements, and puts them in their place in the
// message. The size of every format is then known exactly, one is chosen, and only its index is written.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "hemiola/codec/costs.hpp"
#include "hemiola/codec/format.hpp"
#include "hemiola/codec/index/index.hpp"

namespace hemiola::codec {

/// Memory that `Encoder::scan` needs for a message of so many elements: the most that it may write. Without a
/// format, of the smallest.
std::size_t room_for(DType dtype, std::size_t elements, std::optional<Format> format = std::nullopt);

/// Encodes one array after the other; its memory, 1 bit per element, stays for the next. Slices of an array are encoded
/// one by one, each a message of its own.
class Encoder {
 public:
  explicit Encoder(const Kernels& kernels = best_kernels()) : kernels_(kernels) {}

  /// Reads `count` elements of `element_bytes(dtype)` bytes; both arrays stay until `write`. The message begins at a
  /// multiple of 8 and has `room_for` as many. Throws ArgumentError where the count is more than 32 bits.
  void scan(DType dtype, const std::byte* elements, std::size_t count, std::span<std::byte> message);

  /// The result of the scan.
  std::size_t nonzeros() const { return bitmap_.count.bits; }
  /// Bytes of the message in a format, header included; `ef` stores the places of zeros or nonzeros,
  /// whichever is less.
  std::size_t bytes_as(Format format) const;
  /// The first of the smallest, in the order of `kChoices`.
  Format smallest() const;
  /// Link and cores work at the same time, so the larger of their times counts; where cores are the
  /// bottleneck in several formats, the smallest of the fastest. Dense only where no other is smaller.
  Format fastest(const Costs& costs) const;

  /// Completes the message, once per scan; returns its bytes.
  std::size_t write(Format format);

 private:
  struct IndexSize {
    std::size_t bytes;
    bool inverted;
  };
  IndexSize index_size(Format format) const;
  double seconds(Format format, const Costs& costs) const;
  std::size_t value_bytes() const;
  void invert();

  const Kernels& kernels_;
  DType dtype_ = DType::uint8;
  const std::byte* elements_ = nullptr;
  std::span<std::byte> message_;
  Bitmap bitmap_;
  Words words_, scratch_;
};

/// All of it at once. Returns the message's bytes.
std::size_t encode(Encoder& encoder, DType dtype, const std::byte* elements, std::size_t count,
                   std::optional<Format> format, std::span<std::byte> message);

}  // namespace hemiola::codec
