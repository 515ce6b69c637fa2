// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/shm/doorbell.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

#include "hemiola/runtime/wire/shm/bell.hpp"

namespace hemiola {
namespace {

/// Not the private kind: the word is shared between processes.
void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* timeout) {
  ::syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

}  // namespace

void Doorbell::sleep(std::uint32_t rings, int timeout_us) {
  const timespec timeout{timeout_us / 1'000'000, timeout_us % 1'000'000 * 1000L};
  // Early returns (rung meanwhile, a signal) are welcome: the caller looks again.
  futex(rings_, FUTEX_WAIT, rings, &timeout);
}

void Doorbell::wake() {
  const std::uint32_t how = asleep_.exchange(0);
  if (how == kByBell) Bell::ring(bell_.load());
  if (how != kHere) return;  // or somebody else is waking it
  rings_.fetch_add(1);
  futex(rings_, FUTEX_WAKE, INT_MAX, nullptr);
}

}  // namespace hemiola
