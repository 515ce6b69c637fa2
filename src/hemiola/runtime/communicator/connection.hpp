// What joins the ranks of one communicator: a wire, a board, and how the engine is to use them.
#pragma once

#include <memory>

#include "hemiola/runtime/arrival/board.hpp"
#include "hemiola/runtime/communicator/operation_watch.hpp"
#include "hemiola/runtime/engine/compile.hpp"
#include "hemiola/runtime/engine/engine.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

struct CommunicatorOptions {
  double timeout_s = 300;   ///< for an operation that states none, and to build the communicator
  bool keep_inputs = true;  ///< a failure leaves inputs as they were in place, too, for one copy of them
};

struct Connection {
  std::unique_ptr<Wire> wire;
  std::unique_ptr<ArrivalBoard> board;
  CompileOptions compile;
  EngineOptions engine;
};

/// Collective over the members. Throws TimeoutError, naming those who did not come.
Connection connect(const Members& members, const CommunicatorOptions& options);

}  // namespace hemiola
