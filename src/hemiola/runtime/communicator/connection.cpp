// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/communicator/connection.hpp"

#include <algorithm>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/communicator/wire_choice.hpp"
#include "hemiola/runtime/control/hosts/hosts_control.hpp"
#include "hemiola/runtime/control/local/local_control.hpp"
#include "hemiola/runtime/executor/host/engine.hpp"
#include "hemiola/runtime/health/arrival_meter.hpp"
#include "hemiola/runtime/health/port_meter.hpp"
#include "hemiola/runtime/wire/ucx/rdma_ranks.hpp"

namespace hemiola {
namespace {

/// So long an operation takes at least whose figures ranks tell each other: that costs them a message.
constexpr double kLeastTelling_s = 20e-3;

/// The memory in which the ranks with one port keep its accounts. Throws an ArgumentError if they have no memory in
/// common.
std::shared_ptr<std::byte> memory_of_port(const Members& members, const std::vector<Rank>& port_of, Rank port,
                                          const Deadline& deadline) {
  Members sharing{members.session, {}, Rank{0}};
  for (Rank rank : indices<Rank>(members.count())) {
    if (port_of[static_cast<std::size_t>(rank)] != port) continue;
    if (rank == members.self) sharing.self = Rank{sharing.count()};
    sharing.ranks.push_back(members.world_rank(rank));
  }
  const std::size_t count = port_of.size();
  if (sharing.count() == 1) return PortAccounts::own_memory(count);
  const auto region = sharing.shared(PortAccounts::memory_bytes(count), deadline);
  if (!region)
    throw ArgumentError("ranks that share a port need memory in common to count its messages, and have none");
  return {region, region->bytes().data()};
}

/// Programs and their executor use the wire as it wants to be used.
void follow_traits(const Members& members, std::size_t recorded_transfers, Connection* c) {
  const WireTraits& traits = c->wire->traits();
  c->compile.rules = traits.messages;
  c->compile.ports = traits.ports;
  c->compile.land_at_once = traits.land_at_once;
  EngineOptions engine{.groups_in_flight = traits.groups_in_flight,
                       .waiting = traits.waiting,
                       .keep_inputs = c->compile.keep_inputs};
  if (!traits.healthy.empty()) {
    auto meter = std::make_unique<PortMeter>(members.self, traits.healthy);
    engine.meter = meter.get();
    c->ports = std::make_shared<PortWatch>(c->control.figures.get(), std::move(meter), traits.slow,
                                           members.now_ns());
  }
  if (recorded_transfers == 0) {
    c->executor = std::make_unique<Engine>(c->wire.get(), engine);
    return;
  }
  c->compile.names_transfers = true;
  auto recorder = std::make_unique<TransferRecorder>(recorded_transfers, engine.meter);
  engine.meter = recorder.get();
  recorder->stand_around(std::make_unique<Engine>(c->wire.get(), engine));
  c->recorder = recorder.get();
  c->executor = std::move(recorder);
}

bool are_on_one_host(const Members& members) {
  const int host = members.session->host_of(members.ranks.front());
  return std::ranges::all_of(members.ranks,
                             [&](Rank rank) { return members.session->host_of(rank) == host; });
}

}  // namespace

std::shared_ptr<const ControlKind> control_kind(std::string_view name) {
  if (name.empty()) return nullptr;
  if (auto hosts = std::make_shared<const HostsControl>(); name == hosts->name()) return hosts;
  if (auto local = std::make_shared<const LocalControl>(); name == local->name()) return local;
  throw ArgumentError("expected the control plane 'local' or 'hosts', found '" + std::string(name) + "'");
}

Connection connect(const Members& members, const CommunicatorOptions& options, const Deadline::Check& check) {
  const Deadline deadline(options.timeout_s, check);
  Connection c;
  const bool is_one_host = are_on_one_host(members);
  const auto control = options.control ? options.control : control_kind(is_one_host ? "local" : "hosts");
  WireRequest request{.names = options.wires,
                      .needs_signatures = !control->tells_unasked(),
                      .ucx_libraries = options.ucx_libraries};
  if (request.names == "auto" && !options.wire && !is_one_host)
    request.rdma = rdma_ranks(members, !encrypts(members) && has_rdma(options.ucx_libraries), deadline);
  WireRequest of_messages = request;
  of_messages.names = message_wires(request.names);
  of_messages.rdma.clear();
  // Subscribers hear the courier's messages. Such a control plane needs no ground, and listens on all ranks before the
  // exchange of cards ends on one. The parts on the ground come when that has been laid.
  const std::size_t control_bytes = control->ground_bytes(members);
  if (control_bytes == 0) c.control = control->connect(members, deadline);
  Members grounded = members;
  std::vector<WireChoice> choices;
  for (const WireRequest* wanted : {&request, &of_messages})
    choices.emplace_back(
        [&options, &members, wanted] { return options.wire ? options.wire : choose_wire(members, *wanted); });
  if (!options.has_messages) choices.pop_back();
  auto wires = connect_wires({.choices = choices, .terms = options.terms, .more_ground = control_bytes},
                             &grounded, deadline);
  c.wire = std::move(wires.front());
  if (options.has_messages) c.message_wire = std::move(wires.back());
  if (control_bytes > 0) c.control = control->connect(grounded, deadline);
  c.compile.keep_inputs = options.keep_inputs;
  follow_traits(members, options.recorded_transfers, &c);
  return c;
}

bool watch_ports(const Members& members, RankPorts ports, const Deadline& deadline, Connection* c) {
  const Rank own = ports.port[static_cast<std::size_t>(members.self)];
  const double healthy = ports.healthy[static_cast<std::size_t>(members.self)];
  const auto least_bytes = static_cast<std::int64_t>(kLeastTelling_s * 1e9 * std::ranges::max(ports.healthy));
  PortWatch::ByArrivals by_arrivals{.least_bytes = least_bytes, .port = ports.port};
  auto memory = memory_of_port(members, ports.port, own, deadline);
  auto meter = std::make_unique<ArrivalMeter>(members.self, std::move(ports), std::move(memory));
  if (!c->wire->watch_port(meter.get(), healthy)) return false;
  c->ports = std::make_shared<PortWatch>(c->control.figures.get(), std::move(meter), std::map<Rank, double>{},
                                         members.now_ns(), std::move(by_arrivals));
  return true;
}

}  // namespace hemiola
