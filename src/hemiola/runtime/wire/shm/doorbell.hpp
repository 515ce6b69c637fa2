// SPDX-License-Identifier: Apache-2.0
// How a rank sleeps in shared memory until another has news for it. Whoever has news pays one load unless the
// rank is really asleep.
#pragma once

#include <atomic>
#include <cstdint>

namespace hemiola {

/// One per rank, in zero-filled shared memory.
///
/// The order that makes it safe, with a fence in between on both sides: the sleeper says that it is asleep, then looks
/// for news; the bringer writes its news, then looks whether the other sleeps. At least one of them sees the other.
class alignas(128) Doorbell {
 public:
  /// Sleeps unless `find_news()` finds some, until rung or until `timeout_us` has passed.
  template <typename FindNews>
  void sleep_unless(FindNews find_news, int timeout_us) {
    const std::uint32_t rings = rings_.load();
    asleep_.store(kHere);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!find_news()) sleep(rings, timeout_us);
    asleep_.store(0);
  }

  /// The same for a rank that sleeps on descriptors, among them its bell's: between the two whoever has news rings that.
  void sleep_by(std::uint64_t bell) {
    bell_.store(bell);
    asleep_.store(kByBell);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  void is_awake() { asleep_.store(0); }

  /// To be called after the news is written; the later, the more of that has left this core, for which the fence waits.
  void ring() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (asleep_.load(std::memory_order_relaxed) != 0) wake();
  }

 private:
  static constexpr std::uint32_t kHere = 1, kByBell = 2;

  void sleep(std::uint32_t rings, int timeout_us);
  void wake();

  std::atomic<std::uint32_t> rings_;
  std::atomic<std::uint32_t> asleep_;  ///< 0: awake
  std::atomic<std::uint64_t> bell_;    ///< a Bell's name
};

static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
                  std::atomic<std::uint64_t>::is_always_lock_free,
              "atomics in shared memory must not use a process's own locks");

}  // namespace hemiola
