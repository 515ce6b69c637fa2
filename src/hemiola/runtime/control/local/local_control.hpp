// SPDX-License-Identifier: Apache-2.0
// The control plane of ranks that share memory: a board for each part, on cache lines of its own.
#pragma once

#include "hemiola/runtime/control/control.hpp"

namespace hemiola {

class LocalControl final : public ControlKind {
 public:
  std::string_view name() const override { return "local"; }
  std::size_t ground_bytes(const Members& members) const override;
  /// Throws ArgumentError where the members have no memory in common.
  Control connect(const Members& members, const Deadline& deadline) const override;
};

}  // namespace hemiola
