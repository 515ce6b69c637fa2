// SPDX-License-Identifier: Apache-2.0
#include "hemiola/simulate/joined_changes.hpp"

#include <algorithm>
#include <utility>

#include "hemiola/base/interrupt.hpp"

namespace hemiola::simulation {
namespace {

/// Joining saves enough where a change of an inlet stands for so many changes of flows.
constexpr std::size_t kEnough = 2;
/// After it saved little, nothing is joined for one moment, two, four, … but no more.
constexpr int kLongestPause = 64;

}  // namespace

bool JoinedChanges::are_worth_it_now(std::size_t flow_count) {
  if (pause_left_ > 0) {
    --pause_left_;
    return false;
  }
  if (!first_inlet_.empty()) return true;
  if (flow_count <= static_cast<std::size_t>(scenario_.topology().link_count())) return false;
  seen_ += flow_count;
  if (seen_ < scenario_.pair_count()) return false;
  make_inlets();
  return true;
}

void JoinedChanges::make_inlets() {
  using Known = std::pair<Picoseconds, std::uint32_t>;
  std::vector<std::vector<Known>> known(static_cast<std::size_t>(scenario_.topology().link_count()));
  std::vector<Picoseconds> later_of;  // per inlet
  for (std::uint32_t pair = 0; pair < scenario_.pair_count(); ++pair) {
    heed_interrupt(static_cast<std::int64_t>(scenario_.path_of_pair(pair).size()));
    first_inlet_.push_back(inlets_of_pairs_.size());
    queues_.visit_pair(pair, [&](int l, Picoseconds later) {
      std::vector<Known>& here = known[static_cast<std::size_t>(l)];  // in order
      auto place = std::ranges::lower_bound(here, later, {}, &Known::first);
      if (place == here.end() || place->first != later) {
        place = here.insert(place, {later, static_cast<std::uint32_t>(inlets_.size())});
        inlets_.emplace_back().link = l;
        later_of.push_back(later);
      }
      inlets_of_pairs_.push_back(place->second);
    });
  }
  first_inlet_.push_back(inlets_of_pairs_.size());
  std::vector<Picoseconds> sorted = later_of;
  std::ranges::sort(sorted);
  sorted.erase(std::ranges::unique(sorted).begin(), sorted.end());
  for (const Picoseconds later : sorted) delays_.push_back({later, kNone});
  for (std::size_t i = 0; i < inlets_.size(); ++i)
    inlets_[i].delay =
        static_cast<std::uint32_t>(std::ranges::lower_bound(sorted, later_of[i]) - sorted.begin());
}

void JoinedChanges::set_off(Picoseconds now) {
  for (const std::uint32_t i : changed_inlets_) {
    Inlet& inlet = inlets_[i];
    if (delays_[inlet.delay].later == 0)
      queues_.change({inlet.link, inlet.flows, inlet.rate, kNoTransfer}, now);
    else
      join_wave(inlet);
    inlet.has_changed = false;
    inlet.flows = 0;
    inlet.rate = 0;
  }
  if (added_ >= kEnough * changed_inlets_.size()) {
    next_pause_ = 1;
  } else {
    pause_left_ = next_pause_;
    next_pause_ = std::min(2 * next_pause_, kLongestPause);
  }
  added_ = 0;
  changed_inlets_.clear();
}

void JoinedChanges::join_wave(const Inlet& inlet) {
  if (free_change_ == kNone) {
    free_change_ = static_cast<std::uint32_t>(changes_.size());
    changes_.push_back({0, 0, 0, kNone});
  }
  const std::uint32_t number = free_change_;
  free_change_ = changes_[number].next;
  Delay& delay = delays_[inlet.delay];
  if (delay.wave == kNone) setting_off_.push_back(inlet.delay);
  changes_[number] = {inlet.rate, inlet.flows, inlet.link, delay.wave};
  delay.wave = number;
}

void JoinedChanges::arrive(std::uint32_t wave, Picoseconds now) {
  std::uint32_t last = wave;
  for (std::uint32_t number = wave; number != kNone; number = changes_[number].next) {
    const Change& joined = changes_[number];
    queues_.change({joined.link, joined.flows, joined.rate, kNoTransfer}, now);
    last = number;
  }
  changes_[last].next = free_change_;
  free_change_ = wave;
}

}  // namespace hemiola::simulation
