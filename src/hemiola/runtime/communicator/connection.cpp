#include "hemiola/runtime/communicator/connection.hpp"

#include <algorithm>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/control/arbiter/arbiter_control.hpp"
#include "hemiola/runtime/control/hosts/hosts_control.hpp"
#include "hemiola/runtime/control/local/local_control.hpp"
#include "hemiola/runtime/executor/host/engine.hpp"
#include "hemiola/runtime/session/hosts/hosts_session.hpp"
#include "hemiola/runtime/wire/shm/shm_kind.hpp"
#include "hemiola/runtime/wire/tcp/tcp_kind.hpp"

namespace hemiola {
namespace {

/// Programs and their executor use the wire as it wants to be used.
void follow_traits(const Members& members, Connection* c) {
  const WireTraits& traits = c->wire->traits();
  c->compile.rules = traits.messages;
  c->compile.ports = traits.ports;
  c->compile.land_at_once = traits.land_at_once;
  EngineOptions engine{.groups_in_flight = traits.groups_in_flight, .waiting = traits.waiting};
  if (!traits.healthy.empty()) {
    c->ports = std::make_unique<PortWatch>(c->control.figures.get(), members.self, traits.healthy,
                                           traits.slow, members.now_ns());
    engine.meter = c->ports->meter();
  }
  c->executor = std::make_unique<Engine>(c->wire.get(), engine);
}

bool are_on_one_host(const Members& members) {
  const int host = members.session->host_of(members.ranks.front());
  return std::ranges::all_of(members.ranks,
                             [&](Rank rank) { return members.session->host_of(rank) == host; });
}

/// Where a session joins several hosts, it has an address for the wire, too.
std::shared_ptr<WireKind> tcp_of(const Members& members) {
  const auto* hosts = dynamic_cast<const HostsSession*>(members.session.get());
  if (hosts == nullptr) throw ArgumentError("ranks on several hosts need a wire that joins these; name one");
  return std::make_shared<TcpKind>(
      TcpOptions{.reception = hosts->reception(), .advertised = hosts->addresses()});
}

}  // namespace

std::shared_ptr<const ControlKind> control_kind(std::string_view name) {
  if (name.empty()) return nullptr;
  if (auto hosts = std::make_shared<const HostsControl>(); name == hosts->name()) return hosts;
  auto local = std::make_shared<const LocalControl>();
  if (name == local->name()) return local;
  auto arbiter = std::make_shared<const ArbiterControl>(local);
  if (name == arbiter->name()) return arbiter;
  throw ArgumentError("expected the control plane 'local', 'arbiter' or 'hosts', found '" +
                      std::string(name) + "'");
}

Connection connect(const Members& members, const CommunicatorOptions& options, const Deadline::Check& check) {
  const Deadline deadline(options.timeout_s, check);
  Connection c;
  const bool is_one_host = are_on_one_host(members);
  const auto control = options.control ? options.control : control_kind(is_one_host ? "local" : "hosts");
  c.control = control->connect(members, deadline);
  const auto kind = options.wire ? options.wire : is_one_host ? std::make_shared<ShmKind>() : tcp_of(members);
  c.wire = connect_wire(kind.get(), members, deadline);
  c.compile.keep_inputs = options.keep_inputs;
  follow_traits(members, &c);
  return c;
}

}  // namespace hemiola
