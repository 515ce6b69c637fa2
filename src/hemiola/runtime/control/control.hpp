// SPDX-License-Identifier: Apache-2.0
// The ranks of one communicator tell each other about operations here, without moving data. Each part carries words and
// judges none: operation/, adaptation/ and health/ find ranks that disagree, or are lost, late or slow.
//
// One rule orders all of it. Operations are numbered from 0 by each rank's own count, and
//
//   a rank publishes operation g + 2 only when every rank has completed operation g.
//
// So two entries per rank, used in turn, are enough for all words about an operation, and no rank overwrites a word
// that another may still read. The rule holds since an operation ends only when all have come to it.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "hemiola/base/deadline.hpp"
#include "hemiola/runtime/control/choices.hpp"
#include "hemiola/runtime/control/figures.hpp"
#include "hemiola/runtime/control/late_register.hpp"
#include "hemiola/runtime/control/pulse.hpp"
#include "hemiola/runtime/control/roll.hpp"
#include "hemiola/runtime/session/members.hpp"

namespace hemiola {

/// The parts may come from different control planes. None is null.
struct Control {
  std::shared_ptr<const void> ground;  ///< the ground of the parts; it goes last
  std::unique_ptr<Roll> roll;
  std::unique_ptr<Pulse> pulse;
  std::unique_ptr<LateRegister> late;
  std::unique_ptr<Figures> figures;
  std::unique_ptr<Choices> choices;
};

class ControlKind {
 public:
  virtual ~ControlKind() = default;
  virtual std::string_view name() const = 0;
  /// Whether the ranks' words about an operation reach everybody unasked, so that no message has to carry them.
  virtual bool tells_unasked() const { return true; }
  /// As of WireKind.
  virtual std::size_t ground_bytes(const Members&) const { return 0; }
  /// Collective over the members. Throws the errors of Session::exchange.
  virtual Control connect(const Members& members, const Deadline& deadline) const = 0;
};

}  // namespace hemiola
