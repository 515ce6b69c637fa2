// What learns from the operations of a communicator, and what it is told of each.
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

/// What an operation that may leave zeros out tells.
struct ZerosNote {
  std::optional<double> density;  ///< seen in it; nothing: nobody has looked
  int pause = 1;             ///< where ranks have looked: they look again before one operation in so many
  bool has_changed = false;  ///< where they have looked: another program runs from now on
  bool is_hinted = false;    ///< where they have not: at a density that takes another program
};

/// One operation that has succeeded on all ranks, of which all are told the same; what differs is marked.
struct Note {
  std::uint64_t number = 0;
  const Signature& signature;
  std::int64_t began_ns = 0;  ///< differs from rank to rank: when this one came, by its session's clock
  Supervisor* supervisor = nullptr;        ///< of this rank, for a learner that waits for others
  const LateForecast* forecast = nullptr;  ///< where its plan may look for a late rank
  const LateOutlook* outlook = nullptr;    ///< where it is planned around a late rank, or would be
  const ArrivalLog* arrivals = nullptr;  ///< its latest row says when each rank came; null: ranks do not hear
  bool sends_all = true;                 ///< its messages carry every element
  std::optional<ZerosNote> zeros = {};
};

/// All ranks of a communicator note the same operations in the same order, so they find the same at every operation
/// without a message. Notes come in operations' turns; any thread may ask what has been found.
class Learner {
 public:
  virtual ~Learner() = default;

  /// Returns whether it finds something else from the next operation on. What it throws ends the communicator.
  virtual bool note(const Note& note) = 0;
  /// Adds what it has found about calls that sign this, but for the schedule's digest.
  virtual void find(const Signature& call, Findings* found) const = 0;
};

}  // namespace hemiola
