#include "hemiola/algorithms/optcc.hpp"

#include <string>

#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

/// The healthy ranks as a ring, in rank order without the slow one.
struct HealthyRing {
  int size;
  Rank slow;
  Rank at(int place) const {
    const int index = ((place % size) + size) % size;
    return Rank{index < slow ? index : index + 1};
  }
};

/// Half steps, so that a result may leave between two hops of the sections behind it.
Step half_step(int halves) {
  return Step{halves};
}

void add_section(ScheduleBuilder* builder, const HealthyRing& ring, int section) {
  const int turn = -section, size = ring.size;
  const Chunk chunk{section};
  builder->reduce(half_step(2 * section), ring.slow, ring.at(turn + 1), chunk);
  for (int hop = 0; hop < size - 1; ++hop)
    builder->reduce(half_step(2 * (section + 1 + hop)), ring.at(turn + 1 + hop), ring.at(turn + 2 + hop),
                    chunk);
  builder->copy(half_step(2 * (section + size)), ring.at(turn), ring.slow, chunk);
  for (int hop = 0; hop < size - 1; ++hop)
    builder->copy(half_step(2 * (section + size + hop) + 3), ring.at(turn + hop), ring.at(turn + 1 + hop),
                  chunk);
}

}  // namespace

Schedule all_reduce_optcc(int rank_count, Rank slow_rank, int segments) {
  const std::string where = "all_reduce_optcc: ";
  if (rank_count < 3)
    throw ArgumentError(where + "expected at least 3 ranks, found " + std::to_string(rank_count));
  if (slow_rank < 0 || slow_rank >= rank_count)
    throw ArgumentError(where + "expected slow_rank in 0 … " + std::to_string(rank_count - 1) + ", found " +
                        std::to_string(slow_rank));
  if (segments < 1 || segments > (1 << 16))
    throw ArgumentError(where + "expected segments in 1 … 65536, found " + std::to_string(segments));
  const HealthyRing ring{rank_count - 1, slow_rank};
  std::vector<Rank> owner;
  for (int section = 0; section < segments * ring.size; ++section) owner.push_back(ring.at(-section));
  ScheduleBuilder builder(Collective::with_owners(CollectiveKind::all_reduce, rank_count, owner));
  for (int section = 0; section < segments * ring.size; ++section) add_section(&builder, ring, section);
  return builder.finish();
}

}  // namespace hemiola::algorithms
