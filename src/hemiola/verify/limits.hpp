// SPDX-License-Identifier: Apache-2.0
// Limits that a schedule may be asked to keep beyond its promise: which links exist, and how much one step
// may put on a link or a port. Some algorithms and machines assume them; the meaning of a schedule does not.
#pragma once

#include <optional>

#include "hemiola/schedule/transfer_source.hpp"
#include "hemiola/topology/topology.hpp"
#include "hemiola/verify/violation.hpp"

namespace hemiola {

struct Limits {
  /// Transfers may join only ranks that share a link, or are joined through switches alone. Null: any two.
  const Topology* topology = nullptr;
  /// The most chunks that one pair of ranks (one direction) carries in a step.
  std::optional<int> link_capacity;
  /// The most chunks that leave a rank, and the most that enter it, in a step.
  std::optional<int> port_capacity;
};

/// Adds `no_link` and `over_capacity` violations, the latter at the transfer that exceeds. Throws
/// ArgumentError for a capacity < 1 or a topology of another rank count. One pass over the source; memory
/// O(ranks + pairs).
void check_limits(const TransferSource& source, const Limits& limits, Report* report);

}  // namespace hemiola
