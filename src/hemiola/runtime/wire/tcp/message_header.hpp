// What goes before every message on a TCP connection: how long it is, and of which operation.
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
  std::uint16_t flags = 0;  ///< 1: has a hint
  std::uint64_t digest = 0;
  std::uint64_t user_tag = 0;  ///< of a message from user to user; 0 in an operation of all

  MessageHeader() = default;
  MessageHeader(const OperationTag& tag, std::size_t size)
      : bytes(size),
        operation(tag.operation),
        version(tag.version),
        flags(tag.has_hint),
        digest(tag.digest) {}
  OperationTag tag() const { return {operation, version, digest, flags != 0}; }
};
static_assert(sizeof(MessageHeader) == 32);

}  // namespace hemiola
