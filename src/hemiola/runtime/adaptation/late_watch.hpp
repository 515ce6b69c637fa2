// SPDX-License-Identifier: Apache-2.0
// Whether it pays that an all-reduce waits for a late rank: its saving in the latest operations of its size.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "hemiola/runtime/adaptation/learner.hpp"
#include "hemiola/runtime/adaptation/size_bucket.hpp"

namespace hemiola {

/// The predicted time of one operation, from the last rank's arrival to the end.
struct LateForecast {
  double plain_s = 0;            ///< where nobody reduces meanwhile; above 0
  double segment_s = 0;          ///< the early ranks' reduction of one segment; above 0
  std::vector<double> finish_s;  ///< by the number of segments reduced, from 0 to all

  /// The share of `plain_s` that finding the late rank saves, where the last comes `lag_s` >= 0 after the last but one;
  /// negative where it costs. A rank that comes in the middle of a segment waits for its end, and the first segment is
  /// begun as soon as one rank alone is missing.
  double gain(double lag_s) const {
    const auto segments = static_cast<double>(finish_s.size() - 1);
    const double reduced = std::min(segments, std::floor(lag_s / segment_s) + 1);
    const double wait_s = std::max(0.0, reduced * segment_s - lag_s);
    return 1 - (wait_s + finish_s[static_cast<std::size_t>(reduced)]) / plain_s;
  }
};

/// By size, to the next power of two: in a training step one all-reduce meets the late rank, and the small one
/// after it finds all together. A gain is bounded, so one hiccup, however long, counts for no more than any rank that
/// is late enough.
class LateWatch final : public Learner {
 public:
  static constexpr std::size_t kOperations = 8;  ///< looked at
  static constexpr double kLeastGain = 0.05;     ///< on average, to begin; to go on, any gain will do

  /// The forecast is of messages that carry all.
  bool note(const Note& note) override {
    if (note.forecast == nullptr || note.arrivals == nullptr) return false;
    const std::int64_t bytes = note.signature.byte_count();
    const bool paid = pays(bytes);
    const double lag_s = static_cast<double>(note.arrivals->latest_last().lag_ns) * 1e-9;
    this->note(bytes, note.sends_all ? note.forecast->gain(lag_s) : 0);
    return pays(bytes) != paid;
  }
  void find(const Signature& call, Findings* found) const override {
    if (call.kind == OperationKind::all_reduce) found->seeks_late = pays(call.byte_count());
  }

  bool pays(std::int64_t bytes) const { return habit(bytes).pays; }

  void note(std::int64_t bytes, double gain) {
    Habit& h = habits_[size_bucket(bytes)];
    h.gains[h.count++ % kOperations] = gain;
    if (h.count < kOperations) return;
    const double mean = std::accumulate(h.gains.begin(), h.gains.end(), 0.0) / kOperations;
    h.pays = h.pays ? mean > 0 : mean >= kLeastGain;
  }

 private:
  struct Habit {
    std::array<double, kOperations> gains{};
    std::uint64_t count = 0;
    std::atomic<bool> pays = false;
  };
  const Habit& habit(std::int64_t bytes) const { return habits_[size_bucket(bytes)]; }

  std::array<Habit, kSizeBuckets> habits_{};
};

}  // namespace hemiola
