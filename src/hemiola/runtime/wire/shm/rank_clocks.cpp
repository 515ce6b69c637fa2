// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/shm/rank_clocks.hpp"

#include <sched.h>

#include <ctime>
#include <set>

namespace hemiola {

std::optional<CoreUse> RankClocks::read() const {
  std::set<pid_t> processes;  // ranks may be threads of one
  for (const PeerMemory& rank : ranks_) {
    if (!rank.is_readable()) return {};
    processes.insert(rank.process());
  }
  CoreUse use{.at = std::chrono::steady_clock::now(), .taken = {}, .cores = 0, .processes = 0};
  cpu_set_t own, all;
  CPU_ZERO(&all);
  if (::sched_getaffinity(0, sizeof own, &own) != 0) return {};
  for (const pid_t process : processes) {
    cpu_set_t theirs, common;
    if (::sched_getaffinity(process, sizeof theirs, &theirs) != 0) return {};
    CPU_AND(&common, &own, &theirs);
    if (CPU_COUNT(&common) == 0) continue;
    CPU_OR(&all, &all, &theirs);
    clockid_t clock;
    timespec taken;
    if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &taken) != 0) return {};
    use.taken += std::chrono::seconds(taken.tv_sec) + std::chrono::nanoseconds(taken.tv_nsec);
    ++use.processes;
  }
  use.cores = CPU_COUNT(&all);
  return use;
}

}  // namespace hemiola
