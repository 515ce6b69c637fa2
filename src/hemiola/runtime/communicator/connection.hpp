// What joins the ranks of one communicator: a wire, a board, and how the engine is to use them.
#pragma once

#include <chrono>
#include <memory>

#include "hemiola/runtime/arrival/board.hpp"
#include "hemiola/runtime/arrival/late_arbiter.hpp"
#include "hemiola/runtime/arrival/late_cells.hpp"
#include "hemiola/runtime/communicator/operation_watch.hpp"
#include "hemiola/runtime/engine/compile.hpp"
#include "hemiola/runtime/engine/engine.hpp"
#include "hemiola/runtime/health/port_watch.hpp"
#include "hemiola/runtime/wire/emulated/emulated_wire.hpp"
#include "hemiola/runtime/wire/emulated/network_model.hpp"
#include "hemiola/runtime/wire/wire.hpp"
#include "hemiola/topology/conditions.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola {

/// A network to behave like, with the ranks of the session as its ranks.
struct Emulation {
  Topology topology;
  Conditions conditions;
};

struct CommunicatorOptions {
  double timeout_s = 300;   ///< for an operation that states none, and to build the communicator
  bool keep_inputs = true;  ///< a failure leaves inputs as they were in place, too, for one copy of them
  bool arbiter = false;     ///< who is late is settled by messages, not in shared memory
  std::shared_ptr<const Emulation> emulation;  ///< null: as fast as the machine
};

struct Connection {
  std::unique_ptr<NetworkModel> network;  ///< what `wire` emulates, if it does
  std::unique_ptr<Wire> wire;
  EmulatedWire* emulated = nullptr;  ///< `wire`, if it is one
  /// Null where the wire has no ports that could be slow: memory between processes is as fast as their cores.
  std::unique_ptr<PortWatch> ports;
  std::unique_ptr<ArrivalBoard> board;
  std::unique_ptr<LateCells> late_cells;
  std::unique_ptr<LateArbiter> late_arbiter;  ///< on one rank, where there is one
  std::unique_ptr<LateClient> late_client;    ///< null: use late_cells
  CompileOptions compile;
  EngineOptions engine;
  std::chrono::nanoseconds delay{0};  ///< how late this rank comes to every operation
};

/// Collective over the members. Throws TimeoutError, naming those who did not come.
Connection connect(const Members& members, const CommunicatorOptions& options);

}  // namespace hemiola
