// SPDX-License-Identifier: Apache-2.0
// The clock of the first member, as another rank knows it from asking now and then.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <vector>

#include "hemiola/runtime/session/session.hpp"

namespace hemiola {

/// One thread takes readings; any thread reads.
class CommonClock {
 public:
  /// Of the first of these there is nothing to learn; where it is lost, the next one goes on from what it has learnt.
  CommonClock(Rank self, const std::vector<Rank>& members)
      : is_first_(self == members.front()), others_error_ns_(members.size() > 1 ? kUnknown_ns : 0) {
    for (Rank member : members)
      if (member != self) errors_ns_[member] = kUnknown_ns;
  }

  /// An answer to a question that was asked at `asked_ns` and has come at `answered_ns`, by this rank's own clock: rank 0's
  /// showed `there_ns` in between. `others_error_ns`: the largest error that rank 0 knows of.
  void learn(std::int64_t asked_ns, std::int64_t there_ns, std::int64_t answered_ns,
             std::int64_t others_error_ns);
  /// On the first: another rank's error, as that rank has stated it. As long as one has said nothing, nobody knows the
  /// largest.
  void hear_error(Rank rank, std::int64_t error_ns);
  /// A rank is lost: its error does not count any more.
  void forget(Rank rank);

  /// Before the first answers nobody knows.
  static constexpr std::int64_t kUnknown_ns = std::int64_t{1} << 60;
  /// How far this rank's clock may be off rank 0's.
  std::int64_t own_error_ns(std::int64_t now_ns) const;
  std::int64_t others_error_ns() const { return others_error_ns_.load(std::memory_order_relaxed); }

  /// Never goes backwards.
  ClockReading read() const;

  /// What it shows now.
  std::int64_t common_ns() const { return monotonic_ns() + offset_ns_.load(std::memory_order_relaxed); }

  static std::int64_t monotonic_ns();

 private:
  void note_errors();

  /// The most that the clocks of two machines drift apart in a second; crystals decide it.
  static constexpr double kDrift = 100e-6;

  const bool is_first_;
  bool has_learnt_ = false, has_heard_ = false;  ///< as another rank; as the first
  std::map<Rank, std::int64_t> errors_ns_;       ///< by rank, on the first
  std::atomic<std::int64_t> others_error_ns_;
  std::atomic<std::int64_t> offset_ns_ = 0, learnt_ns_ = 0, error_ns_ = 0;
  mutable std::atomic<std::int64_t> latest_ns_ = 0;
};

}  // namespace hemiola
