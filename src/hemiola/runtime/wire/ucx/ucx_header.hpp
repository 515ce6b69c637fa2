// SPDX-License-Identifier: Apache-2.0
// The header of every message by UCX: its sender, its number, and its operation.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

static_assert(std::endian::native == std::endian::little, "headers travel as they lie in memory");

/// Of the active messages of a worker of ours.
constexpr unsigned kUcxMessageId = 7;

struct UcxHeader {
  std::uint64_t key = 0;     ///< the receiver's, from its card; a sender without it is not of this group
  std::uint32_t sender = 0;  ///< by its number in the group
  std::uint32_t operation = 0;
  std::uint64_t epoch = 0;   ///< of the wire
  std::uint64_t number = 0;  ///< of this message from the sender to the receiver in the epoch, from 1
  std::uint64_t digest = 0;
  std::uint16_t version = 0;
  std::uint16_t flags = 0;  ///< hints
  std::uint16_t unused[2] = {};

  OperationTag tag() const { return {operation, version, digest, static_cast<std::uint8_t>(flags)}; }
  /// Whether a rank may have written it.
  bool is_sound() const { return flags <= kAllHints && unused[0] == 0 && unused[1] == 0; }
};
static_assert(sizeof(UcxHeader) == 48);
/// The part of a header that proves its sender. Less is a greeting, or a stranger's.
constexpr std::size_t kUcxProofBytes = offsetof(UcxHeader, sender) + sizeof(UcxHeader::sender);

/// The part that is the same in all messages of a wire at a time.
struct UcxMoment {
  Rank self{0};
  std::uint64_t epoch = 0;
  OperationTag* tag;          ///< of the wire, which messages bear and bring hints to
  bool has_moved = false;     ///< something has, since somebody looked
  std::size_t in_flight = 0;  ///< requests of its worker that have not come to their end
};

}  // namespace hemiola
