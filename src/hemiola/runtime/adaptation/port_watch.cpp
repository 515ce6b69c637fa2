// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/adaptation/port_watch.hpp"

#include <algorithm>
#include <utility>

namespace hemiola {
PortWatch::PortWatch(Figures* figures, std::unique_ptr<PortGauge> gauge,
                     const std::map<Rank, double>& assumed, std::int64_t now_ns,
                     std::optional<ByArrivals> by_arrivals)
    : gauge_(std::move(gauge)),
      figures_(figures),
      figures_read_(gauge_->shares().size()),
      best_share_(figures_read_.size() / (by_arrivals ? 2 : 1)),
      pairs_(best_share_.size() * kPairOperations),
      by_arrivals_(by_arrivals),
      health_(static_cast<int>(best_share_.size()), assumed, now_ns,
              by_arrivals ? kJudgingByArrivals : Judging{}) {}

bool PortWatch::note(const Note& note) {
  const std::uint64_t before = version();
  if (looks_at(note.signature))
    end_operation(note.number, note.began_ns, [&] { note.supervisor->check(); });
  else
    drop_operation();
  return version() != before;
}

bool PortWatch::looks_at(const Signature& signature) const {
  const auto ranks = static_cast<int>(best_share_.size());
  return !by_arrivals_ || (signature.everybody_depends_on_everybody(ranks) &&
                           signature.byte_count() >= by_arrivals_->least_bytes);
}

void PortWatch::end_operation(std::uint64_t number, std::int64_t now_ns, const Figures::Check& check) {
  const bool tells = !by_arrivals_ || !plans_for_slow_ports();
  if (shown_count_ > 0 && read(check) && shown_tells_) judge(number, now_ns);
  if (by_arrivals_) go_on_with_trials();
  figures_->show(shown_count_++, gauge_->shares());
  shown_number_ = number;
  shown_tells_ = tells;
  if (gauge_->has_measured()) keep_pairs();
  gauge_->clear();
}

bool PortWatch::read(const Figures::Check& check) {
  const bool has_measured = figures_->read(shown_count_ - 1, figures_read_, check);
  const std::size_t ranks = best_share_.size();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const double in = figures_read_[rank], out = figures_read_[by_arrivals_ ? ranks + rank : rank];
    best_share_[rank] = in > 0 && out > 0 ? std::max(in, out) : 0;
  }
  return has_measured;
}

/// At the end of operation `number`, the figures of the latest that has been shown.
void PortWatch::judge(std::uint64_t number, std::int64_t now_ns) {
  std::lock_guard lock(mutex_);
  const bool changes = health_.judge(shown_number_, now_ns, best_share_);
  if (health_.is_in_doubt()) until_trial_ = 1;
  if (changes) note_change(number + 1);
}

bool PortWatch::adopt(const std::map<Rank, double>& measured, std::uint64_t number, std::int64_t now_ns) {
  std::lock_guard lock(mutex_);
  std::map<Rank, double> by_port;
  for (const auto& [rank, factor] : measured) {
    double& most = by_port[port_of(rank)];
    most = std::max(most, factor);
  }
  const bool changes = health_.adopt(by_port, number, now_ns);
  if (changes) note_change(number);
  return changes;
}

/// The factors have changed, for operations from `number` on.
void PortWatch::note_change(std::uint64_t number) {
  changes_.push_back({number, factors_by_rank()});
  if (changes_.size() > kChanges) changes_.pop_front();
  pause_ = until_trial_ = kFirstPause;
  renew();
}

Rank PortWatch::port_of(Rank rank) const {
  return by_arrivals_ && !by_arrivals_->port.empty() ? by_arrivals_->port[static_cast<std::size_t>(rank)]
                                                     : rank;
}

std::vector<SlowPort> PortWatch::slow_by_rank() const {
  std::vector<SlowPort> by_rank;
  const std::vector<SlowPort> by_port = health_.slow_ports();
  for (Rank rank : indices<Rank>(best_share_.size())) {
    const auto slow = std::ranges::find(by_port, port_of(rank), &SlowPort::rank);
    if (slow == by_port.end()) continue;
    by_rank.push_back(*slow);
    by_rank.back().rank = rank;
  }
  return by_rank;
}

std::map<Rank, double> PortWatch::factors_by_rank() const {
  std::map<Rank, double> factors;
  for (const SlowPort& slow : slow_by_rank()) factors[slow.rank] = slow.planned_factor;
  return factors;
}

void PortWatch::go_on_with_trials() {
  std::lock_guard lock(mutex_);
  if (is_trial_) {
    is_trial_ = false;
    until_trial_ = pause_ = std::min(2 * pause_, kLongestPause);
  } else if (health_.slow_ports().empty() || --until_trial_ > 0) {
    return;
  } else {
    is_trial_ = true;
  }
  renew();
}

void PortWatch::keep_pairs() {
  const std::size_t row = pair_operations_++ % kPairOperations;
  std::ranges::copy(gauge_->pairs(), pairs_.begin() + static_cast<std::ptrdiff_t>(row * best_share_.size()));
}

std::vector<PortWatch::PairShares> PortWatch::pair_shares() const {
  std::vector<PairShares> best(best_share_.size());
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    PairShares& of_rank = best[i % best.size()];
    of_rank = {std::max(of_rank.to, pairs_[i].to), std::max(of_rank.from, pairs_[i].from)};
  }
  return best;
}

PortsInForce PortWatch::in_force() const {
  std::lock_guard lock(mutex_);
  return {version(), is_trial_ ? std::map<Rank, double>{} : factors_by_rank()};
}

PortWatch::Report PortWatch::report() const {
  std::lock_guard lock(mutex_);
  return {slow_by_rank(), {changes_.begin(), changes_.end()}};
}

}  // namespace hemiola
