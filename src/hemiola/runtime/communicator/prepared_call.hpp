// SPDX-License-Identifier: Apache-2.0
// A call of one rank, checked and prepared, as the desk hands it to the communicator.
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
  // The source of the operation, beside its contents:
  CallKey key;
  double factor = 1;                   ///< of a premul_sum
  std::optional<std::uint64_t> epoch;  ///< of the adaptation, for which it was made; nothing: for every one
  double timeout_s = 0;                ///< 0: the communicator's
  std::shared_ptr<const void> keep_alive;  ///< the owner of the buffers, for operations in the background
};

}  // namespace hemiola
