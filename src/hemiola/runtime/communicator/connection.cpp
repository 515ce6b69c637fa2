#include "hemiola/runtime/communicator/connection.hpp"

#include <sched.h>

#include "hemiola/base/rounding.hpp"
#include "hemiola/runtime/arrival/board.hpp"
#include "hemiola/runtime/wire/shm/shm_wire.hpp"

namespace hemiola {
namespace {

constexpr std::size_t kPageBytes = 4096;

std::size_t whole_pages(std::size_t bytes) {
  return rounded_up(bytes, kPageBytes);
}

int usable_cores() {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

/// Spinning pays only where the rank that is waited for has a core of its own.
Patience::Limits patience_for(int local_ranks) {
  if (local_ranks <= usable_cores()) return {};
  return {.spins = 20, .yields = 200, .sleep_us = 500};
}

std::size_t watch_bytes(int rank_count) {
  return whole_pages(PortWatch::region_bytes(rank_count));
}

std::unique_ptr<PortWatch> watch_ports(const NetworkModel& network, Rank self, std::span<std::byte> region) {
  std::vector<PairSpeed> healthy;
  std::map<Rank, double> assumed;
  for (Rank peer : indices<Rank>(network.rank_count())) {
    const bool is_self = peer == self;
    healthy.push_back({network.latency_ns(self, peer), is_self ? 1 : network.bandwidth_Bpns(self, peer)});
    const double slowdown = network.slowdown()[static_cast<std::size_t>(peer)];
    if (slowdown > 1) assumed[peer] = slowdown;
  }
  return std::make_unique<PortWatch>(region, self, std::move(healthy), assumed, monotonic_ns());
}

/// All processes are on this machine so far, so messages never leave it.
constexpr const char* kArbiterHost = "127.0.0.1";

/// The first rank keeps the arbiter, in a thread of its own; all ranks, that one, too, talk to it.
void appoint_arbiter(const Members& members, const Deadline& deadline, Connection* c) {
  if (members.self == 0) {
    c->late_arbiter = std::make_unique<LateArbiter>(kArbiterHost, members.count());
    c->late_cells->announce(c->late_arbiter->address());
  }
  Pause pause;
  while (!c->late_cells->announced()) {
    if (deadline.passed()) throw TimeoutError("rank 0 has not opened the arbiter of late ranks in time");
    pause.wait();
  }
  c->late_client = std::make_unique<LateClient>(kArbiterHost, *c->late_cells->announced(), deadline);
}

/// Puts an emulated network around the wire. Ports are real there: one step after the other, whatever is added in
/// one step arrives side by side, and messages are as the schedule has them.
void emulate(const Members& members, const Emulation& emulation, std::span<std::byte> region, Connection* c) {
  c->network = std::make_unique<NetworkModel>(emulation.topology, emulation.conditions, members.ranks);
  const std::span<std::byte> watch = region.first(watch_bytes(members.count()));
  auto wire = std::make_unique<EmulatedWire>(std::move(c->wire), c->network.get(),
                                             region.subspan(watch.size()), members.self);
  c->emulated = wire.get();
  c->wire = std::move(wire);
  c->ports = watch_ports(*c->network, members.self, watch);
  c->engine.meter = c->ports->meter();
  c->compile.ports = {c->network->sending_ports(members.self), c->network->receiving_ports(members.self)};
  c->compile.land_at_once = true;
  c->compile.rules.join_bytes = c->compile.rules.pack_bytes = 0;
  c->engine.groups_in_flight = 1;
  c->engine.patience = {.spins = 0, .yields = 4, .sleep_us = 1000};
  const Picoseconds delay = emulation.conditions.delay_of(members.session->rank());
  c->delay = std::chrono::nanoseconds(delay / 1000);
}

}  // namespace

Connection connect(const Members& members, const CommunicatorOptions& options) {
  const int ranks = members.count();
  const std::size_t board_bytes = whole_pages(ArrivalBoard::region_bytes(ranks));
  const std::size_t wire_bytes = whole_pages(ShmWire::region_bytes(ranks));
  const std::size_t network_bytes =
      options.emulation ? watch_bytes(ranks) + SharedNetwork::region_bytes(ranks) : 0;
  const std::size_t late_bytes = whole_pages(LateCells::region_bytes());
  std::span<std::byte> region = members.session->share(
      members.ranks, late_bytes + board_bytes + wire_bytes + network_bytes, options.timeout_s);
  Connection c;
  c.late_cells = std::make_unique<LateCells>(region.first(late_bytes));
  if (options.arbiter) appoint_arbiter(members, Deadline(options.timeout_s), &c);
  region = region.subspan(late_bytes);
  c.board = std::make_unique<ArrivalBoard>(region.first(board_bytes), members.self, ranks);
  c.wire = std::make_unique<ShmWire>(region.subspan(board_bytes, wire_bytes), members.self, ranks);
  c.compile.keep_inputs = options.keep_inputs;
  c.engine.patience = patience_for(members.session->rank_count());
  if (options.emulation) emulate(members, *options.emulation, region.subspan(board_bytes + wire_bytes), &c);
  c.compile.rules.slice_bytes = static_cast<std::int64_t>(c.wire->slice_bytes());
  return c;
}

}  // namespace hemiola
