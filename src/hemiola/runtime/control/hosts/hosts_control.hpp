// SPDX-License-Identifier: Apache-2.0
// The control plane of ranks that have no memory in common. In steady state it says nothing. Necessary words go by
// courier, most of them through the first member, which keeps the books.
#pragma once

#include "hemiola/runtime/control/control.hpp"

namespace hemiola {

class HostsControl final : public ControlKind {
 public:
  std::string_view name() const override { return "hosts"; }
  bool tells_unasked() const override { return false; }
  Control connect(const Members& members, const Deadline& deadline) const override;
};

}  // namespace hemiola
