// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/shm/shm_kind.hpp"

#include <sched.h>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/wire/shm/shm_wire.hpp"

namespace hemiola {
namespace {

int usable_cores() {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

int ranks_on_this_host(const Session& session) {
  int count = 0;
  for (Rank rank : indices<Rank>(session.rank_count()))
    count += session.host_of(rank) == session.host_of(session.rank());
  return count;
}

/// Spinning pays only where the rank that is waited for has a core of its own.
Waiting waiting_on(bool shares_core) {
  if (!shares_core) return {.yields = 10000};  // some milliseconds: a sleeping core wakes late
  return {.spins = 20, .yields = 200, .sleep_us = 500};
}

}  // namespace

std::size_t ShmKind::ground_bytes(const Members& members) const {
  return Ground::bytes_of_piece(ShmWire::region_bytes(members.count()));
}

std::unique_ptr<Wire> ShmKind::connect(const Members& members, std::span<const Bytes>,
                                       const Deadline& deadline) {
  std::shared_ptr<SharedRegion> region = members.shared(ShmWire::region_bytes(members.count()), deadline);
  if (!region) throw ArgumentError("the wire 'shm' joins ranks that share memory; these have none in common");
  const bool shares_core = ranks_on_this_host(*members.session) > usable_cores();
  return std::make_unique<ShmWire>(std::move(region), members.self, members.count(),
                                   ShmOptions{.waiting = waiting_on(shares_core),
                                              .shares_core = shares_core,
                                              .carries_signatures = carries_signatures_});
}

}  // namespace hemiola
