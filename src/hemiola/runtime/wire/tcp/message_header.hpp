// SPDX-License-Identifier: Apache-2.0
// The header of every message on a TCP connection: its length and its operation.
#pragma once

#include <bit>
#include <cstdint>

#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

static_assert(std::endian::native == std::endian::little, "headers travel as they lie in memory");

struct MessageHeader {
  std::uint64_t bytes = 0;
  std::uint32_t operation = 0;
  std::uint16_t version = 0;
  std::uint16_t flags = 0;
  std::uint64_t digest = 0;
  std::uint64_t unused = 0;

  static constexpr std::uint16_t kFollows = 1 << 8;  ///< the bits below are hints

  MessageHeader() = default;
  MessageHeader(const OperationTag& tag, std::size_t size, bool follows)
      : bytes(size),
        operation(tag.operation),
        version(tag.version),
        flags(static_cast<std::uint16_t>(tag.hints | (follows ? kFollows : 0))),
        digest(tag.digest) {}
  OperationTag tag() const {
    return {operation, version, digest, static_cast<std::uint8_t>(flags & kAllHints)};
  }
  /// Whether it was to be sent before the one before it had left, so that the sender did not pause.
  bool follows() const { return (flags & kFollows) != 0; }
  /// Whether a rank may have written it.
  bool is_sound() const { return (flags & ~(kAllHints | kFollows)) == 0 && unused == 0; }
};
static_assert(sizeof(MessageHeader) == 32);

}  // namespace hemiola
