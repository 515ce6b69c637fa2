// What rank 0's clock shows, as another rank knows it from asking now and then.
#pragma once

#include <atomic>
#include <cstdint>

#include "hemiola/runtime/session/session.hpp"

namespace hemiola {

/// One thread takes readings; any thread reads.
class CommonClock {
 public:
  /// On rank 0 there is nothing to learn.
  explicit CommonClock(bool is_rank_zero) : is_rank_zero_(is_rank_zero) {}

  /// An answer to a question that was asked at `asked_ns` and has come at `answered_ns`, by this rank's own clock: rank 0's
  /// showed `there_ns` in between. `others_error_ns`: the largest error that rank 0 has heard of.
  void learn(std::int64_t asked_ns, std::int64_t there_ns, std::int64_t answered_ns,
             std::int64_t others_error_ns);
  /// On rank 0: somebody's error.
  void hear_error(std::int64_t error_ns);

  /// Before the first answer nobody knows.
  static constexpr std::int64_t kUnknown_ns = std::int64_t{1} << 60;
  /// How far this rank's clock may be off rank 0's.
  std::int64_t own_error_ns(std::int64_t now_ns) const;
  std::int64_t others_error_ns() const { return others_error_ns_.load(std::memory_order_relaxed); }

  /// Never goes backwards.
  ClockReading read() const;

  static std::int64_t monotonic_ns();

 private:
  /// What two machines' clocks drift apart in a second, at most, as crystals go.
  static constexpr double kDrift = 100e-6;

  const bool is_rank_zero_;
  bool has_learnt_ = false;
  std::atomic<std::int64_t> offset_ns_ = 0, learnt_ns_ = 0, error_ns_ = 0, others_error_ns_ = 0;
  mutable std::atomic<std::int64_t> latest_ns_ = 0;
};

}  // namespace hemiola
