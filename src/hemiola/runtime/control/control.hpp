// How the ranks of one communicator tell each other about operations without moving data. Each part carries words and
// judges none: who disagrees, who is lost, late or slow is for operation/, late/ and health/ to say.
//
// One rule orders all of it. Operations are numbered from 0 by each rank's own count, and
//
//   a rank publishes operation g + 2 only when every rank has completed operation g.
//
// So two entries per rank, used in turn, are enough for whatever is said about an operation, and nobody overwrites what
// somebody may still read. Who keeps the rule: an operation ends only when all have come to it.
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
  std::shared_ptr<const void> ground;  ///< what the parts stand on; goes last
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
  /// Whether what ranks say of an operation comes to everybody unasked, so that no message has to carry it.
  virtual bool tells_unasked() const { return true; }
  /// As of WireKind.
  virtual std::size_t ground_bytes(const Members&) const { return 0; }
  /// Collective over the members. Throws what Session::exchange does.
  virtual Control connect(const Members& members, const Deadline& deadline) const = 0;
};

}  // namespace hemiola
