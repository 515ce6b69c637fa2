// SPDX-License-Identifier: Apache-2.0
// How to wait when nothing moves: poll or spin briefly while that pays, then let others run, then sleep, and ask the
// supervisor now and then. On a machine with more ranks than cores the rank that is waited for needs the core, so there
// is next to no spinning then; nor in the background of a caller that works, whose core it is.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>

#include "hemiola/base/short_waits.hpp"
#include "hemiola/base/yields.hpp"
#include "hemiola/runtime/executor/supervisor.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

/// Whether polling has met news of late. What comes within microseconds is met sooner by whoever polls than by whoever is
/// woken; whoever waits longer, or shares a core with the one that it waits for, had better sleep at once.
class PollRecord {
 public:
  /// Asked once per wait. When it has not paid, later waits try again, twice as rarely after each further miss: a moment
  /// in which somebody was late is soon forgotten, a shared core is not.
  bool pays() {
    if (left_out_ == 0) return true;
    --left_out_;
    return false;
  }
  void met() {
    misses_ = left_out_ = 0;
    pause_ = 1;
  }
  void missed() {
    misses_ = std::min(misses_ + 1, kMostMisses);
    if (misses_ < kMostMisses) return;
    left_out_ = pause_;
    pause_ = std::min(2 * pause_ + 1, kLongestPause);
  }

 private:
  static constexpr int kMostMisses = 4;
  static constexpr int kLongestPause = 63;
  int misses_ = 0;
  int pause_ = 1;  ///< waits to be left out by the next miss
  int left_out_ = 0;
};

/// What waiting has shown a rank so far.
struct WaitingRecord {
  PollRecord polls;
  Yields yields;
};

/// One for each size of what is moved. Where ranks share cores, those that move megabytes wait while others copy, for long;
/// that is no reason to sleep where a word is waited for next, but for believing the first long yield there.
class WaitingRecords {
 public:
  /// Where so many bytes are moved in all: up to 16 times as many have the same one.
  WaitingRecord& of(std::size_t bytes) {
    const auto own = records_.begin() + std::min(static_cast<int>(std::bit_width(bytes)) / 4, kSizes - 1);
    own->yields.suspect(
        std::any_of(own + 1, records_.end(), [](const auto& larger) { return larger.yields.cost_slices(); }));
    return *own;
  }

 private:
  static constexpr int kSizes = 7;  ///< the last one is for 8 MiB and more
  std::array<WaitingRecord, kSizes> records_;
};

class Patience {
 public:
  /// Pauses while nobody waits for the result: a peer that is here answers meanwhile. One that works,
  /// too, is away for as long as the system gives it its core, and whoever spins meanwhile uses up the time that it is to
  /// get itself later.
  static constexpr int kFewSpins = 20;

  /// The record outlives it. `may_poll`: as the wire wants to be polled, while that pays.
  Patience(const Waiting& waiting, WaitingRecord* record, bool may_poll = false)
      : waiting_(waiting), record_(record), may_poll_(may_poll) {
    record_->yields.share(waiting_.core_use);
  }

  /// Something has moved.
  void renew() {
    if (idle_rounds_ > 0) {
      if (idle_rounds_ <= polls_) record_->polls.met();
      record_->yields.end_wait();
    }
    idle_rounds_ = 0;
  }

  /// Throws what the supervisor throws.
  void wait(Wire* wire, Supervisor* supervisor) {
    const bool is_awaited = supervisor->is_awaited();
    if (idle_rounds_ == 0) {
      next_sleep_us_ = waiting_.first_sleep_us;
      polls_ = may_poll_ && is_awaited && record_->polls.pays() ? waiting_.polls : 0;
    }
    ++idle_rounds_;
    if (idle_rounds_ == kShortRounds) KeptThroughShortWaits::end();
    if (idle_rounds_ <= polls_) return;
    if (polls_ > 0 && idle_rounds_ == polls_ + 1) record_->polls.missed();
    spins_ = is_awaited ? waiting_.spins : std::min(waiting_.spins, kFewSpins);
    if (idle_rounds_ <= polls_ + spins_) {
      relax_core();
      return;
    }
    KeptThroughShortWaits::end();
    const auto now = Yields::Clock::now();
    consult(supervisor, now);
    if (is_awaited && idle_rounds_ <= polls_ + spins_ + waiting_.yields && record_->yields.pay(now)) {
      record_->yields.yield(now);
    } else {
      record_->yields.sleep();
      sleep(wire);
    }
  }

 private:
  /// Some 3 µs of polls or pauses: as long as a small message takes between two ranks that are both here.
  static constexpr int kShortRounds = 48;

  /// Lets the core's other thread run for an instant.
  static void relax_core() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::
                     : "memory");  // some ten nanoseconds, as the pause; `yield` does nothing on most cores
#endif
  }

  void sleep(Wire* wire) {
    const int sleep_us = std::min(next_sleep_us_, waiting_.sleep_us);
    next_sleep_us_ = 2 * sleep_us;
    wire->wait(sleep_us);
  }

  static constexpr auto kConsultInterval = std::chrono::milliseconds(5);

  void consult(Supervisor* supervisor, Yields::Clock::time_point now) {
    if (next_consultation_ == Yields::Clock::time_point{}) next_consultation_ = now + kConsultInterval;
    if (now < next_consultation_) return;
    next_consultation_ = now + kConsultInterval;
    supervisor->check();
  }

  Waiting waiting_;
  WaitingRecord* record_;
  bool may_poll_;
  int polls_ = 0;  ///< the rounds with which this wait begins
  int spins_ = 0;  ///< those after them
  int next_sleep_us_ = 0;
  int idle_rounds_ = 0;
  Yields::Clock::time_point next_consultation_{};
};

}  // namespace hemiola
