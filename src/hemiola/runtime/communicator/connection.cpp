#include "hemiola/runtime/communicator/connection.hpp"

#include <sched.h>

#include "hemiola/runtime/wire/shm/shm_wire.hpp"

namespace hemiola {
namespace {

constexpr std::size_t kPageBytes = 4096;

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
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

}  // namespace

Connection connect(const Members& members, const CommunicatorOptions& options) {
  const int ranks = members.count();
  const std::size_t board_bytes = whole_pages(ArrivalBoard::region_bytes(ranks));
  const std::span<std::byte> region =
      members.session->share(members.ranks, board_bytes + ShmWire::region_bytes(ranks), options.timeout_s);
  Connection c;
  c.board = std::make_unique<ArrivalBoard>(region.first(board_bytes), members.self, ranks);
  c.wire = std::make_unique<ShmWire>(region.subspan(board_bytes), members.self, ranks);
  c.compile.keep_inputs = options.keep_inputs;
  c.compile.rules.slice_bytes = static_cast<std::int64_t>(c.wire->slice_bytes());
  c.engine.patience = patience_for(members.session->rank_count());
  return c;
}

}  // namespace hemiola
