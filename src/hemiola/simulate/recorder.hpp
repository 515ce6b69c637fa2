// SPDX-License-Identifier: Apache-2.0
// Keeps the messages on each link and when each transfer landed, if someone wants to know.
#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "hemiola/simulate/scenario.hpp"

namespace hemiola::simulation {

class Recorder {
 public:
  Recorder(bool is_on, TransferId transfer_count)
      : is_on_(is_on), landed_(is_on ? transfer_count : 0, Timeline::kNever) {}

  void span(const Span& span) {
    if (is_on_) [[unlikely]]
      spans_.push_back(span);
  }
  /// The last byte of t arrives later than its span says, by so much.
  void delay(TransferId t, Picoseconds by) {
    if (is_on_) [[unlikely]]
      delays_.push_back({t, by});
  }
  void landing(TransferId t, Picoseconds now) {
    if (is_on_) [[unlikely]]
      landed_[t] = now;
  }

  void move_to(Timeline* timeline) {
    // A transfer's hops were recorded one after the other.
    std::stable_sort(spans_.begin(), spans_.end(),
                     [](const Span& a, const Span& b) { return a.transfer < b.transfer; });
    for (const Delay& delay : delays_) span_of(delay.transfer)->arrival += delay.by;
    timeline->spans = std::move(spans_);
    timeline->landed = std::move(landed_);
  }

 private:
  struct Delay {
    TransferId transfer;
    Picoseconds by;
  };
  /// The last one of t, when they are sorted.
  std::vector<Span>::iterator span_of(TransferId t) {
    const auto is_before = [](TransferId u, const Span& span) { return u < span.transfer; };
    return std::prev(std::upper_bound(spans_.begin(), spans_.end(), t, is_before));
  }

  bool is_on_;
  std::vector<Delay> delays_;
  std::vector<Span> spans_;
  std::vector<Picoseconds> landed_;
};

}  // namespace hemiola::simulation
