// SPDX-License-Identifier: Apache-2.0
// A wire's traits, so that its users need not know its kind.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "hemiola/base/core_use.hpp"
#include "hemiola/base/index.hpp"

namespace hemiola {

/// How large a wire wants its messages. Both ends of a pair say the same.
struct MessageRules {
  std::int64_t slice_bytes =
      1 << 20;  ///< longer chunks are cut into slices: cutting finer helps pipelining no more
  std::int64_t join_bytes = 1 << 20;  ///< neighbouring chunks are joined up to this, at most a slice
  std::int64_t pack_bytes = 8 << 10;  ///< so are others up to this: a copy costs less than a message
  std::int64_t resting_bytes =
      0;  ///< a slice of a chunk that no rank passes on or adds to, where that may be longer: nothing is pipelined
};

/// How to wait for it: poll, then pause, then let others run, then sleep.
struct Waiting {
  int polls = 0;     ///< without a pause, while that has met news of late (PollRecord)
  int spins = 2000;  ///< pauses of a few ten nanoseconds
  int yields = 200;  ///< calls of sched_yield
  /// A wait's first sleep is at most so long, and each further one twice as long as the one before, up to …
  int first_sleep_us = 5000;
  int sleep_us = 500;  ///< … the longest; the wire wakes us earlier when it can
  /// Of the ranks that share cores, where their clocks can be read; lives as long as the wire.
  const CoreUseMeter* core_use = nullptr;
};

/// Which of a rank's ports leads to (comes from) each peer, numbered from 0. Empty: one port.
struct PortMap {
  std::vector<int> sending;
  std::vector<int> receiving;
};

/// The speed of a healthy network between this rank and one peer.
struct PairSpeed {
  double latency_ns = 0;
  double bytes_per_ns = 1;
  double message_ns = 0;  ///< how long a message occupies the way between them beside its bytes
};

struct WireTraits {
  MessageRules messages = {};
  /// How many groups of messages (see Lane) may be under way at a time. 1: a port carries one step after the other, as
  /// a NIC does; more hides the time between a message's end and the next one's start.
  int groups_in_flight = 8;
  /// The summands of one step are better received side by side, and added afterwards.
  bool land_at_once = false;
  /// Messages bear their operation's tag, and the wire compares it (Wire::begin_operation).
  bool carries_signatures = false;
  /// Messages bear the hints, at least (Wire::spread).
  bool carries_hints = false;
  /// Before and after an operation something may be left to do that only `progress` does.
  bool has_remains = true;
  Waiting waiting = {};
  PortMap ports = {};
  /// By peer. Empty where no port could be slow, as between cores of one machine.
  std::vector<PairSpeed> healthy = {};
  /// By how much whose ports are slower, as far as is known from the start.
  std::map<Rank, double> slow = {};
  std::chrono::nanoseconds arrival_delay{0};  ///< how late it makes this rank come to every operation
};

}  // namespace hemiola
