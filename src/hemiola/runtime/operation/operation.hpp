// What one call of one rank does with an executor, and what it signs. The communicator gives an operation its number,
// waits until all ranks have come to it and repairs what a failed one leaves behind; it knows no kind of operation.
#pragma once

#include <cstdint>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/control/late_register.hpp"
#include "hemiola/runtime/control/signature.hpp"
#include "hemiola/runtime/executor/executor.hpp"
#include "hemiola/runtime/operation/arrival_log.hpp"

namespace hemiola {

/// What an operation works with from its turn to its end.
struct Stage {
  std::uint64_t number = 0;
  Rank self{0};
  int rank_count = 1;
  Executor* executor = nullptr;
  LateRegister* late = nullptr;
  Supervisor* supervisor = nullptr;
};

class Operation {
 public:
  virtual ~Operation() = default;

  /// What this rank says that it does, asked when its turn has come; equal on all ranks that do the same.
  virtual Signature signature() const = 0;
  /// Does this rank's part; throws what executor, register and supervisor throw. What it signed and what it does come
  /// from the same state: nothing is noted in between.
  virtual void execute(const Stage& stage) = 0;
  /// All have come and agree, and this rank's part is done. Not called where an operation fails, on any rank.
  virtual void succeeded();
  /// Whether all ranks have to hear when each of them has come, the same on all of them; asked in the operation's turn.
  virtual bool wants_arrivals() const { return false; }
  /// Whether its messages carry every element, as they are planned to; asked where it has succeeded.
  virtual bool sends_all() const { return true; }
  /// Whether it was made for what no longer holds in its turn, the same on all ranks.
  virtual bool is_outdated() const { return false; }
  /// All have come, when `log` says in its latest row; the same on all ranks.
  virtual void note_arrivals(const ArrivalLog& log);
};

inline void Operation::succeeded() {}
inline void Operation::note_arrivals(const ArrivalLog&) {}

}  // namespace hemiola
