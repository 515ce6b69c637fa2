// A call of one rank, checked and prepared: what the desk hands to the communicator.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "hemiola/runtime/communicator/call_key.hpp"
#include "hemiola/runtime/operation/operation.hpp"

namespace hemiola {

struct PreparedCall {
  std::unique_ptr<Operation> operation;  ///< never null; moves nothing where there is a complaint
  std::string complaint;  ///< not empty: the caller's mistake, about which the other ranks must learn
  /// What the operation was made from: the signature but for the schedule's digest, the key, the buffers.
  Signature signature;
  CallKey key;
  Buffers buffers;
  double factor = 1;               ///< of a premul_sum
  bool is_ours_to_choose = false;  ///< then it is chosen again where conditions have changed by its turn
  std::uint64_t planned_for = 0;   ///< the version of the ports' health for which it was chosen
  double timeout_s = 0;            ///< 0: the communicator's
  std::shared_ptr<const void> keep_alive;  ///< what owns the buffers, for operations in the background
};

}  // namespace hemiola
