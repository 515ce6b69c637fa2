// SPDX-License-Identifier: Apache-2.0
// The simulator's queue: a radix heap over integer times. A pushed event is never earlier than the last
// popped one, so an event moves down a few buckets and is never compared with its neighbours. Events of one
// time leave in the order in which they came, which makes every simulation deterministic.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "hemiola/base/units.hpp"

namespace hemiola::simulation {

template <typename Payload>
class EventQueue {
 public:
  struct Event {
    Picoseconds time;
    Payload payload;
  };

  bool empty() const { return size_ == 0; }

  /// `time` is at least the time of the event popped last.
  void push(Picoseconds time, Payload payload) {
    buckets_[bucket_of(time)].push_back({time, payload});
    occupied_ |= std::uint64_t{1} << bucket_of(time);
    ++size_;
  }

  Event pop() {
    if (next_ == buckets_[0].size()) refill();
    --size_;
    return buckets_[0][next_++];
  }

  /// Whether an event of the time popped last is still to come.
  bool has_more_now() const { return next_ < buckets_[0].size(); }

 private:
  /// Bucket b > 0 holds the times that differ from `now_` in bit b-1 first; bucket 0 holds `now_` itself.
  std::size_t bucket_of(Picoseconds time) const {
    return static_cast<std::size_t>(64 - std::countl_zero(static_cast<std::uint64_t>(time ^ now_)));
  }

  /// Moves `now_` to the next time. Buckets below the one that is emptied are empty, so equal times stay in
  /// order.
  void refill() {
    buckets_[0].clear();
    next_ = 0;
    occupied_ &= ~std::uint64_t{1};
    const auto b = static_cast<std::size_t>(std::countr_zero(occupied_));
    std::vector<Event>& bucket = buckets_[b];
    now_ = bucket[0].time;
    for (const Event& e : bucket) now_ = e.time < now_ ? e.time : now_;
    for (const Event& e : bucket) {
      const std::size_t to = bucket_of(e.time);
      buckets_[to].push_back(e);
      occupied_ |= std::uint64_t{1} << to;
    }
    bucket.clear();
    occupied_ &= ~(std::uint64_t{1} << b);
  }

  std::array<std::vector<Event>, 64> buckets_;
  std::uint64_t occupied_ = 0;
  std::size_t next_ = 0;
  std::size_t size_ = 0;
  Picoseconds now_ = 0;
};

}  // namespace hemiola::simulation
