// SPDX-License-Identifier: Apache-2.0
// The share of shared cores' time that the processes of one job take.
#pragma once

#include <chrono>
#include <optional>

namespace hemiola {

/// How long those of a job that may run on a process's cores, itself among them, have run so far, all together.
struct CoreUse {
  std::chrono::steady_clock::time_point at;
  std::chrono::nanoseconds taken;
  int cores;      ///< that any of them may run on
  int processes;  ///< how many they are
};

/// Where processes share cores, one that yields to another of the job looks to itself like one that yields to a stranger.
/// Their clocks tell the two apart: without strangers the job's own processes take all that the cores have.
class CoreUseMeter {
 public:
  /// Clocks of processes that run on other cores lag behind by up to a tick of the system, 1 to 10 ms: over less time than
  /// this they say nothing.
  static constexpr std::chrono::milliseconds kShortest{16};

  virtual ~CoreUseMeter() = default;

  /// Some 1 us a process. Nothing where a clock cannot be read.
  virtual std::optional<CoreUse> read() const = 0;

  /// Whether nobody else has run to speak of. Strangers that never rest, one on each core, leave the job processes /
  /// (processes + cores) of the time at most, and nobody leaves it all. Half way between the two is the border.
  static bool were_ours(const CoreUse& begin, const CoreUse& end) {
    const std::chrono::duration<double> taken = end.taken - begin.taken;
    const std::chrono::duration<double> all = end.cores * (end.at - begin.at);
    const double leftable = double(end.processes) / (end.processes + end.cores);
    return taken > (1 + leftable) / 2 * all;
  }
};

}  // namespace hemiola
