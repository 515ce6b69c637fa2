// SPDX-License-Identifier: Apache-2.0
// From a message to an array, or into one. Nothing of a message is believed: `open` checks all of it, the index bit by bit,
// before the first value is touched, and never reads outside of it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "hemiola/codec/format.hpp"
#include "hemiola/codec/index/index.hpp"
#include "hemiola/codec/packed.hpp"

namespace hemiola::codec {

/// dst[i] = a[i] (op) b[i] over `bytes` bytes of whole elements; dst may be a or b.
using CombineBytes = void (*)(std::byte* dst, const std::byte* a, const std::byte* b, std::size_t bytes);

/// Where a decoded array is written.
enum class Destination : std::uint8_t {
  cached,         ///< small enough to stay in the caches, or read next
  beyond_caches,  ///< larger than they are: written around them
};

/// From about so many bytes on an array is `beyond_caches`; several cores share the last of them.
inline constexpr std::int64_t kBeyondCaches = 8 << 20;

/// Opens one message after the other; its memory, 1 bit per element, stays for the next.
class Decoder {
 public:
  explicit Decoder(const Kernels& kernels = best_kernels()) : kernels_(kernels) {}
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Checks a message of which the receiver knows dtype and element count (of `element_bytes(dtype)` each). The message
  /// stays where it is, unchanged, while it is decoded. Throws MismatchError where it is of another dtype or
  /// count, and FormatError where it is no message; an open message is open no more.
  const MessageInfo& open(std::span<const std::byte> message, DType dtype, std::size_t elements);

  /// Writes every element of the open message.
  void decode(std::byte* out, Destination destination = Destination::cached) const;
  /// accumulator[i] = accumulator[i] (op) element i, for every element, zeros too, like a dense message, bit
  /// for bit, for each operation. `combine` does the operation on the message's dtype; sums may go without
  /// it.
  void combine(Op op, CombineBytes combine, std::byte* accumulator) const;

 private:
  Expand sum_of(Op op) const;
  const std::byte* expand_whole(Expand direct, Expand rest, std::byte* to) const;
  std::size_t expand_last(const std::byte* values, std::byte* word) const;
  void combine_blocks(CombineBytes combine, std::byte* accumulator) const;

  const Kernels& kernels_;
  MessageInfo info_;
  std::size_t log_bytes_ = 0;
  const std::byte* values_ = nullptr;
  const std::uint64_t* bitmap_ = nullptr;  ///< null: a dense message
  std::unique_ptr<Segments> segments_;
  Words words_, scratch_;
};

}  // namespace hemiola::codec
