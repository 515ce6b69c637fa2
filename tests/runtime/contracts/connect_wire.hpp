// SPDX-License-Identifier: Apache-2.0
// One wire between members, where a test wants no more.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "hemiola/runtime/wire/wire_kind.hpp"

namespace hemiola::testing {

inline std::unique_ptr<Wire> connect_wire(const WireChoice& choose, Members members,
                                          const Deadline& deadline) {
  return std::move(connect_wires({.choices = std::span(&choose, 1)}, &members, deadline).front());
}

}  // namespace hemiola::testing
