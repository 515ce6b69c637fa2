// SPDX-License-Identifier: Apache-2.0
// Events in the order of their times: a wheel of buckets, each sorted when its time comes. As exact as a heap, and of many
// events at the same times several times as fast.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hemiola/base/units.hpp"

namespace hemiola::trees {

/// `Event` has a `time`.
template <typename Event>
class Calendar {
 public:
  /// Events are added at most `longest_ahead` before their time; most are about `usual_ahead`.
  Calendar(Picoseconds usual_ahead, Picoseconds longest_ahead) {
    const Picoseconds width =
        std::max({usual_ahead / kBucketsOfUsual, longest_ahead / kMostBuckets, Picoseconds{1}});
    shift_ = std::bit_width(static_cast<std::uint64_t>(width)) - 1;
    buckets_.resize(std::bit_ceil(static_cast<std::uint64_t>(longest_ahead >> shift_) + 2));
  }

  bool empty() const { return count_ == 0; }

  /// Not before the time of the first.
  void add(const Event& event) {
    const std::int64_t number = event.time >> shift_;
    std::vector<Event>& bucket = bucket_of(number);
    ++count_;
    if (number != now_ || bucket.empty() || event.time >= bucket.back().time) {
      bucket.push_back(event);
      return;
    }
    const auto behind = std::upper_bound(bucket.begin() + static_cast<std::ptrdiff_t>(taken_), bucket.end(),
                                         event, is_earlier);
    bucket.insert(behind, event);
  }

  /// Of the first event, where there is one. Moves on to it.
  Picoseconds first_time() {
    while (taken_ == bucket_of(now_).size()) {
      bucket_of(now_).clear();
      taken_ = 0;
      ++now_;
      std::vector<Event>& bucket = bucket_of(now_);
      if (!std::is_sorted(bucket.begin(), bucket.end(), is_earlier))
        std::sort(bucket.begin(), bucket.end(), is_earlier);
    }
    return bucket_of(now_)[taken_].time;
  }

  /// Takes the first one, which first_time() has come to.
  Event take() {
    --count_;
    return bucket_of(now_)[taken_++];
  }
  /// Whether another one of that time is at hand.
  bool has_another(Picoseconds time) {
    const std::vector<Event>& bucket = bucket_of(now_);
    return taken_ < bucket.size() && bucket[taken_].time == time;
  }

 private:
  static constexpr Picoseconds kBucketsOfUsual = 64, kMostBuckets = 1 << 9;

  static bool is_earlier(const Event& a, const Event& b) { return a.time < b.time; }
  std::vector<Event>& bucket_of(std::int64_t number) {
    return buckets_[static_cast<std::size_t>(number) & (buckets_.size() - 1)];
  }

  int shift_;
  std::vector<std::vector<Event>> buckets_;
  std::int64_t now_ = 0;   ///< the bucket at hand, which is sorted
  std::size_t taken_ = 0;  ///< of its events
  std::size_t count_ = 0;
};

}  // namespace hemiola::trees
