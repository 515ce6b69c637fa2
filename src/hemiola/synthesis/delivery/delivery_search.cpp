#include "hemiola/synthesis/delivery/delivery_search.hpp"

#include "hemiola/synthesis/delivery/tree_router.hpp"
#include "hemiola/synthesis/delivery/tree_scheduler.hpp"
#include "hemiola/synthesis/network/replay.hpp"

namespace hemiola::synthesis {

Candidate search_delivery(const Delivery& delivery, std::uint64_t seed, SearchState* state) {
  Candidate candidate;
  const Trees trees = TreeRouter(delivery, seed).route();
  candidate.complete = TreeScheduler(delivery.channels, trees, {.seed = seed}).run(state, &candidate.sends);
  if (!candidate.complete) return candidate;
  number_steps(delivery.channels, delivery.chunk_count(), &candidate.sends);
  candidate.duration = replay(delivery.channels, candidate.sends, delivery.chunk_count());
  return candidate;
}

}  // namespace hemiola::synthesis
