// SPDX-License-Identifier: Apache-2.0
// The connection of one communicator's ranks: a control plane, a wire, and an executor over it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hemiola/runtime/adaptation/port_watch.hpp"
#include "hemiola/runtime/control/control.hpp"
#include "hemiola/runtime/executor/executor.hpp"
#include "hemiola/runtime/executor/program/compile.hpp"
#include "hemiola/runtime/executor/transfer_recorder.hpp"
#include "hemiola/runtime/health/arrival_meter.hpp"
#include "hemiola/runtime/session/members.hpp"
#include "hemiola/runtime/wire/wire_kind.hpp"

namespace hemiola {

struct CommunicatorOptions {
  double timeout_s = 300;   ///< for an operation that states none, and to build the communicator
  bool keep_inputs = true;  ///< a failure leaves inputs as they were in place, too, for one copy of them
  std::shared_ptr<WireKind> wire;               ///< null: as `wires` says; may have two cards out at once
  std::string wires = "auto";                   ///< as of WireRequest
  std::vector<std::string> ucx_libraries = {};  ///< as of WireRequest
  bool has_messages = true;                     ///< ranks may send each other messages
  std::shared_ptr<const ControlKind> control;   ///< null: 'local' on one host, 'hosts' between several
  std::size_t recorded_transfers = 0;           ///< so many messages' times are kept; 0: none, at no cost
  std::string terms = {};  ///< as of connect_wires; they tell communicators of the same ranks apart
};

struct Connection {
  Control control;
  std::unique_ptr<Wire> wire;
  std::unique_ptr<Wire> message_wire;  ///< for messages between two ranks; null: there are none
  std::shared_ptr<PortWatch> ports;    ///< null where nobody watches them
  CompileOptions compile;
  std::unique_ptr<Executor> executor;
  const TransferRecorder* recorder = nullptr;  ///< the executor, where it records
};

/// A control plane by its name: 'local' or 'hosts'; null for no name. Throws ArgumentError.
std::shared_ptr<const ControlKind> control_kind(std::string_view name);

/// Collective over the members. Throws TimeoutError, naming the absent ranks, and the errors of `check`.
Connection connect(const Members& members, const CommunicatorOptions& options,
                   const Deadline::Check& check = {});

/// Has the wire tell when bytes come, and judges ports by that; as Communicator::watch_ports says.
bool watch_ports(const Members& members, RankPorts ports, const Deadline& deadline, Connection* c);

}  // namespace hemiola
