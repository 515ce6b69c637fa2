// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/control/local/local_pulse.hpp"

#include <atomic>

#include "hemiola/base/error.hpp"

namespace hemiola {

struct alignas(128) LocalPulse::State {
  std::atomic<std::int64_t> beat_ns;
  std::atomic<Failure> failure;  ///< written after the fields below
  CauseRecord cause;
};

struct LocalPulse::Board {
  alignas(128) std::atomic<bool> is_given_up;  ///< by somebody; written after all that says by whom
  // then the ranks' states
};

std::size_t LocalPulse::region_bytes(int rank_count) {
  return sizeof(Board) + static_cast<std::size_t>(rank_count) * sizeof(State);
}

LocalPulse::LocalPulse(std::span<std::byte> region, Rank self, int rank_count, const Session* clock)
    : board_(reinterpret_cast<Board*>(region.data())), self_(self), rank_count_(rank_count), clock_(clock) {
  HEMIOLA_CHECK(region.size() >= region_bytes(rank_count), "the pulse's region is too small");
}

LocalPulse::State& LocalPulse::state(Rank rank) const {
  return reinterpret_cast<State*>(board_ + 1)[static_cast<std::size_t>(rank)];
}

void LocalPulse::beat() {
  state(self_).beat_ns.store(clock_->clock().now_ns, std::memory_order_relaxed);
}

std::int64_t LocalPulse::last_sign_ns(Rank rank) const {
  return state(rank).beat_ns.load(std::memory_order_relaxed);
}

void LocalPulse::give_up(Failure failure, const Cause& cause) {
  State& own = state(self_);
  if (own.failure.load(std::memory_order_relaxed) != Failure::none) return;
  own.cause = CauseRecord::of(cause);
  own.failure.store(failure, std::memory_order_release);
  board_->is_given_up.store(true, std::memory_order_release);
}

std::vector<Pulse::GivenUp> LocalPulse::given_up() const {
  std::vector<GivenUp> ranks;
  if (!board_->is_given_up.load(std::memory_order_acquire)) [[likely]]
    return ranks;
  for (Rank rank : indices<Rank>(rank_count_)) {
    if (rank == self_) continue;
    const State& s = state(rank);
    const Failure failure = s.failure.load(std::memory_order_acquire);
    if (failure != Failure::none) ranks.push_back({rank, failure, s.cause.cause()});
  }
  return ranks;
}

}  // namespace hemiola
