// Keeps what happened on each link and when each transfer landed, if someone wants to know.
#pragma once

#include <algorithm>
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
  void landing(TransferId t, Picoseconds now) {
    if (is_on_) [[unlikely]]
      landed_[t] = now;
  }

  void move_to(Timeline* timeline) {
    // A transfer's hops were recorded one after the other.
    std::stable_sort(spans_.begin(), spans_.end(),
                     [](const Span& a, const Span& b) { return a.transfer < b.transfer; });
    timeline->spans = std::move(spans_);
    timeline->landed = std::move(landed_);
  }

 private:
  bool is_on_;
  std::vector<Span> spans_;
  std::vector<Picoseconds> landed_;
};

}  // namespace hemiola::simulation
