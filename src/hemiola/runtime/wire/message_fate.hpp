// SPDX-License-Identifier: Apache-2.0
// The fate of an arrived message on a wire that carries signatures (see Wire::begin_operation).
#pragma once

#include <cstdint>
#include <optional>

#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

/// The fate of a message with `tag` at a rank that is in `own`. Numbers wrap, so the sign of their distance counts.
enum class Fate { lands, waits, is_foreign };
inline Fate fate_of(const OperationTag& tag, const OperationTag& own) {
  const auto ahead = static_cast<std::int32_t>(tag.operation - own.operation);
  if (ahead > 0) return Fate::waits;
  return tag == own ? Fate::lands : Fate::is_foreign;
}

/// The tag of the next message for Wire::mismatch. The messages that this rank waits for come before any message of a
/// later operation.
inline std::optional<OperationTag> foreign_tag(const OperationTag& tag, const OperationTag& own,
                                               bool is_awaited) {
  const Fate fate = fate_of(tag, own);
  const bool is_foreign = fate == Fate::is_foreign || (fate == Fate::waits && is_awaited);
  return is_foreign ? std::optional(tag) : std::nullopt;
}

}  // namespace hemiola
