#include "hemiola/algorithms/late.hpp"

#include <algorithm>
#include <cmath>
#include <list>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>

#include "hemiola/algorithms/late_finish.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

/// The most recently used finishes; one serves every late rank.
class FinishCache {
 public:
  std::shared_ptr<const FinishTable> get(int rank_count, int chunk_count) {
    const std::lock_guard lock(mutex_);
    for (auto it = entries_.begin(); it != entries_.end(); ++it)
      if (it->rank_count == rank_count && it->chunk_count == chunk_count) {
        entries_.splice(entries_.begin(), entries_, it);
        return entries_.front().table;
      }
    auto table = std::make_shared<const FinishTable>(late_finish(rank_count, chunk_count));
    entries_.push_front({rank_count, chunk_count, table});
    if (entries_.size() > kCapacity) entries_.pop_back();
    return table;
  }

 private:
  static constexpr std::size_t kCapacity = 16;
  struct Entry {
    int rank_count;
    int chunk_count;
    std::shared_ptr<const FinishTable> table;
  };
  std::mutex mutex_;
  std::list<Entry> entries_;
};

/// The table numbers early ranks 0 … n-2 and the late rank n-1; the job numbers them as they are.
Rank rank_in_job(Rank rank, Rank late_rank, int rank_count) {
  if (rank == rank_count - 1) return late_rank;
  return rank < late_rank ? rank : Rank{rank + 1};
}

/// Chunk numbers in the buffer: the chunks of one owner lie side by side, in the order in which they are
/// released.
std::vector<Chunk> buffer_order(const std::vector<Rank>& owner) {
  std::vector<int> order(owner.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return owner[static_cast<std::size_t>(a)] < owner[static_cast<std::size_t>(b)];
  });
  std::vector<Chunk> place(owner.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[static_cast<std::size_t>(order[i])] = Chunk{i};
  return place;
}

}  // namespace

int late_finish_first_step(int rank_count) {
  return rank_count - 2;
}

int best_late_chunk_count(int rank_count, double nbytes, double latency_s, double bandwidth_Bps, int limit) {
  if (latency_s <= 0) return limit;
  const double best = std::sqrt((doubling_rounds(rank_count) - 1) * nbytes / bandwidth_Bps / latency_s);
  return static_cast<int>(std::clamp(std::round(best), 1.0, static_cast<double>(limit)));
}

namespace {

void check_ranks(const char* algorithm, int rank_count, Rank late_rank) {
  if (rank_count < 3)
    throw ArgumentError(std::string(algorithm) + ": expected at least 3 ranks, found " +
                        std::to_string(rank_count));
  if (late_rank < 0 || late_rank >= rank_count)
    throw ArgumentError(std::string(algorithm) + ": expected late_rank in 0 … " +
                        std::to_string(rank_count - 1) + ", found " + std::to_string(late_rank));
}

/// While waiting: each chunk gathers the early ranks' parts along their ring, from just behind its owner
/// round to it. After arrival: the finish.
Schedule reduce_then_finish(const FinishTable& finish, Rank late_rank) {
  const int rank_count = finish.rank_count, early = rank_count - 1;
  const std::vector<Chunk> place = buffer_order(finish.owner);
  const auto in_job = [&](Rank rank) { return rank_in_job(rank, late_rank, rank_count); };

  std::vector<Rank> owner(place.size());
  for (std::size_t c = 0; c < place.size(); ++c)
    owner[static_cast<std::size_t>(place[c])] = in_job(finish.owner[c]);
  ScheduleBuilder builder(Collective::with_owners(CollectiveKind::all_reduce, rank_count, std::move(owner)));
  for (std::size_t c = 0; c < place.size(); ++c)
    for (int hop = 0; hop < early - 1; ++hop) {
      const Rank src{(finish.owner[c] + 1 + hop) % early}, dst{(finish.owner[c] + 2 + hop) % early};
      builder.reduce(Step{hop}, in_job(src), in_job(dst), place[c]);
    }
  const int first = late_finish_first_step(rank_count);
  for (std::size_t round = 0; round < finish.rounds.size(); ++round)
    for (const FinishMove& move : finish.rounds[round])
      builder.add({Step{first + round}, in_job(move.src), in_job(move.dst),
                   place[static_cast<std::size_t>(move.chunk)], move.reduce});
  return builder.finish();
}

}  // namespace

Schedule all_reduce_late(int rank_count, Rank late_rank, int chunk_count) {
  check_ranks("all_reduce_late", rank_count, late_rank);
  if (chunk_count < 1 || chunk_count > (1 << 20))
    throw ArgumentError("all_reduce_late: expected chunk_count in 1 … 2^20, found " +
                        std::to_string(chunk_count));
  static FinishCache cache;
  return reduce_then_finish(*cache.get(rank_count, chunk_count), late_rank);
}

Schedule all_reduce_stragglar(int rank_count, Rank late_rank) {
  check_ranks("all_reduce_stragglar", rank_count, late_rank);
  if ((rank_count & (rank_count - 1)) != 0)
    throw ArgumentError("all_reduce_stragglar: expected a power of two, found " + std::to_string(rank_count) +
                        " ranks; all_reduce_late takes any count");
  return reduce_then_finish(stragglar_finish(rank_count), late_rank);
}

}  // namespace hemiola::algorithms
