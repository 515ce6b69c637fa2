// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/late/finish_in_job.hpp"

#include <algorithm>
#include <list>
#include <mutex>
#include <numeric>
#include <string>

#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

/// The most recently used finishes; one serves every late rank.
class FinishCache {
 public:
  std::shared_ptr<const FinishTable> get(int rank_count, int chunk_count, FinishKind kind) {
    const std::lock_guard lock(mutex_);
    for (auto it = entries_.begin(); it != entries_.end(); ++it)
      if (it->rank_count == rank_count && it->chunk_count == chunk_count && it->kind == kind) {
        entries_.splice(entries_.begin(), entries_, it);
        return entries_.front().table;
      }
    auto table = std::make_shared<const FinishTable>(late_finish(rank_count, chunk_count, kind));
    entries_.push_front({rank_count, chunk_count, kind, table});
    if (entries_.size() > kCapacity) entries_.pop_back();
    return table;
  }

 private:
  static constexpr std::size_t kCapacity = 16;
  struct Entry {
    int rank_count;
    int chunk_count;
    FinishKind kind;
    std::shared_ptr<const FinishTable> table;
  };
  std::mutex mutex_;
  std::list<Entry> entries_;
};

}  // namespace

std::shared_ptr<const FinishTable> cached_late_finish(int rank_count, int chunk_count, FinishKind kind) {
  static FinishCache cache;
  return cache.get(rank_count, chunk_count, kind);
}

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

Rank rank_in_job(Rank rank, Rank late_rank, int rank_count) {
  if (rank == rank_count - 1) return late_rank;
  return rank < late_rank ? rank : Rank{rank + 1};
}

Rank FinishInJob::rank(Rank r) const {
  return rank_in_job(r, late_rank, table.rank_count);
}

int add_finish(ScheduleBuilder* builder, const FinishInJob& finish, int first_step) {
  for (const auto& round : finish.table.rounds) {
    for (const FinishMove& move : round)
      for (int i = 0; i < finish.pieces; ++i)
        builder->add({Step{first_step}, finish.rank(move.src), finish.rank(move.dst),
                      finish.piece(move.chunk, i), move.reduce});
    ++first_step;
  }
  return first_step;
}

void check_late_rank(const char* algorithm, int rank_count, Rank late_rank) {
  if (rank_count < 3)
    throw ArgumentError(std::string(algorithm) + ": expected at least 3 ranks, found " +
                        std::to_string(rank_count));
  if (late_rank < 0 || late_rank >= rank_count)
    throw ArgumentError(std::string(algorithm) + ": expected late_rank in 0 … " +
                        std::to_string(rank_count - 1) + ", found " + std::to_string(late_rank));
}

}  // namespace hemiola::algorithms
