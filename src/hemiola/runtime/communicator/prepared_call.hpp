// A call of one rank, checked and prepared: what the desk hands to the communicator.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "hemiola/runtime/communicator/call_key.hpp"
#include "hemiola/runtime/operation/operation.hpp"

namespace hemiola {

struct PreparedCall {
  Operation operation;    ///< moves nothing where there is a complaint
  std::string complaint;  ///< not empty: the caller's mistake, about which the other ranks must learn
  // What the operation was made from, beside what is in it:
  CallKey key;
  double factor = 1;                   ///< of a premul_sum
  std::optional<std::uint64_t> epoch;  ///< of the adaptation, for which it was made; nothing: for every one
  double timeout_s = 0;                ///< 0: the communicator's
  std::shared_ptr<const void> keep_alive;  ///< what owns the buffers, for operations in the background
};

}  // namespace hemiola
