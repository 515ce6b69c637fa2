// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/hosts/common_clock.hpp"

#include <algorithm>
#include <ctime>

namespace hemiola {

std::int64_t CommonClock::monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// The answer was given somewhere between question and answer, so the error is half of that time. The earlier answer
/// counts unless drift has made it worse.
void CommonClock::learn(std::int64_t asked_ns, std::int64_t there_ns, std::int64_t answered_ns,
                        std::int64_t others_error_ns) {
  others_error_ns_.store(others_error_ns, std::memory_order_relaxed);
  const std::int64_t error_ns = (answered_ns - asked_ns + 1) / 2;
  if (has_learnt_ && own_error_ns(answered_ns) < error_ns) return;
  has_learnt_ = true;
  offset_ns_.store(there_ns - (asked_ns + error_ns), std::memory_order_relaxed);
  learnt_ns_.store(answered_ns, std::memory_order_relaxed);
  error_ns_.store(error_ns, std::memory_order_relaxed);
}

/// Earlier statements stay true: errors that shrink do so because a rank knows better, not because it was wrong.
void CommonClock::hear_error(Rank rank, std::int64_t error_ns) {
  std::int64_t& known = errors_ns_.try_emplace(rank, kUnknown_ns).first->second;
  known = known == kUnknown_ns ? error_ns : std::max(known, error_ns);
  note_errors();
}

void CommonClock::forget(Rank rank) {
  if (errors_ns_.erase(rank) > 0 && has_heard_) note_errors();
}

void CommonClock::note_errors() {
  has_heard_ = true;
  std::int64_t largest_ns = 0;
  for (const auto& [rank, error_ns] : errors_ns_) largest_ns = std::max(largest_ns, error_ns);
  others_error_ns_.store(largest_ns, std::memory_order_relaxed);
}

std::int64_t CommonClock::own_error_ns(std::int64_t now_ns) const {
  const std::int64_t learnt_ns = learnt_ns_.load(std::memory_order_relaxed);
  if (learnt_ns == 0) return is_first_ ? 0 : kUnknown_ns;
  return error_ns_.load(std::memory_order_relaxed) +
         static_cast<std::int64_t>(kDrift * static_cast<double>(now_ns - learnt_ns));
}

ClockReading CommonClock::read() const {
  const std::int64_t own_ns = monotonic_ns();
  const std::int64_t now_ns = own_ns + offset_ns_.load(std::memory_order_relaxed);
  std::int64_t latest_ns = latest_ns_.load(std::memory_order_relaxed);
  while (latest_ns < now_ns &&
         !latest_ns_.compare_exchange_weak(latest_ns, now_ns, std::memory_order_relaxed)) {
  }
  return {std::max(now_ns, latest_ns), own_error_ns(own_ns) + others_error_ns()};
}

}  // namespace hemiola
