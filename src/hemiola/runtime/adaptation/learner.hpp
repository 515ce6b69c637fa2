// SPDX-License-Identifier: Apache-2.0
// A learner draws conclusions from a communicator's operations. It gets a note of each, and gives findings.
#pragma once

#include <cstdint>
#include <optional>

#include "hemiola/runtime/adaptation/arrival_log.hpp"
#include "hemiola/runtime/adaptation/findings.hpp"
#include "hemiola/runtime/control/signature.hpp"
#include "hemiola/runtime/executor/supervisor.hpp"

namespace hemiola {

struct LateForecast;
struct LateOutlook;

/// The zeros in an operation that may leave them out.
struct ZerosNote {
  std::optional<double> density;  ///< which ranks have seen; nothing: none has looked
  int pause = 1;                  ///< after a look: the ranks look again before one operation in so many
  bool has_changed = false;       ///< after a look: another program runs from now on
  bool is_hinted = false;         ///< without a look: messages hinted at a density for another program
};

/// An operation that has succeeded on all ranks. All get the same note, but for two marked fields.
struct Note {
  std::uint64_t number = 0;
  const Signature& signature;
  std::int64_t began_ns = 0;  ///< differs from rank to rank: the arrival of this one, by its session's clock
  Supervisor* supervisor = nullptr;        ///< differs, too: for a learner that waits for other ranks
  const LateForecast* forecast = nullptr;  ///< of a plan that may look for a late rank
  const LateOutlook* outlook = nullptr;    ///< of a plan around a late rank, or of one that could be
  const ArrivalLog* arrivals = nullptr;  ///< its latest row says when each rank came; null: ranks do not hear
  bool sends_all = true;                 ///< its messages carry every element
  std::optional<ZerosNote> zeros = {};
};

/// All ranks of a communicator note the same operations in the same order. So their findings are the same at every
/// operation, without a message. Notes come in operations' turns; any thread may ask for findings.
class Learner {
 public:
  virtual ~Learner() = default;

  /// Returns whether its findings change from the next operation on. An exception ends the communicator.
  virtual bool note(const Note& note) = 0;
  /// Adds its findings about calls with this signature, with any schedule's digest.
  virtual void find(const Signature& call, Findings* found) const = 0;
};

}  // namespace hemiola
