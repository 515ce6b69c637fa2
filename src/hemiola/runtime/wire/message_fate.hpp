// What a wire that carries signatures does with a message that has come (see Wire::begin_operation).
#pragma once

#include <cstdint>

#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

/// What a rank that is in `own` does with a message that bears `tag`. Numbers wrap, so what counts is the sign of their
/// distance.
enum class Fate { lands, waits, is_foreign };
inline Fate fate_of(const OperationTag& tag, const OperationTag& own) {
  const auto ahead = static_cast<std::int32_t>(tag.operation - own.operation);
  if (ahead > 0) return Fate::waits;
  return tag == own ? Fate::lands : Fate::is_foreign;
}

}  // namespace hemiola
