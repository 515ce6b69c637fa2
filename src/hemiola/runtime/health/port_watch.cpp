#include "hemiola/runtime/health/port_watch.hpp"

#include <algorithm>
#include <utility>

namespace hemiola {

PortWatch::PortWatch(Figures* figures, Rank self, std::vector<PairSpeed> healthy,
                     const std::map<Rank, double>& assumed, std::int64_t now_ns)
    : meter_(self, std::move(healthy)),
      figures_(figures),
      best_share_(static_cast<std::size_t>(meter_.rank_count())),
      pairs_(best_share_.size() * kPairOperations),
      health_(meter_.rank_count(), assumed, now_ns) {}

void PortWatch::end_operation(std::uint64_t number, std::int64_t now_ns, const Figures::Check& check) {
  if (number > 0 && shown_ == number && figures_->read(number - 1, best_share_, check)) {
    std::lock_guard lock(mutex_);
    if (health_.judge(number - 1, now_ns, best_share_)) {
      changes_.push_back({number + 1, health_.factors_in_force()});
      if (changes_.size() > kChanges) changes_.pop_front();
      version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
  }
  figures_->show(number, meter_.shares());
  shown_ = number + 1;
  if (meter_.has_measured()) keep_pairs();
  meter_.clear();
}

void PortWatch::keep_pairs() {
  const std::size_t row = pair_operations_++ % kPairOperations;
  std::ranges::copy(meter_.pairs(), pairs_.begin() + static_cast<std::ptrdiff_t>(row * best_share_.size()));
}

std::vector<PortWatch::PairShares> PortWatch::pair_shares() const {
  std::vector<PairShares> best(best_share_.size());
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    PairShares& of_rank = best[i % best.size()];
    of_rank = {std::max(of_rank.to, pairs_[i].to), std::max(of_rank.from, pairs_[i].from)};
  }
  return best;
}

PortWatch::InForce PortWatch::in_force() const {
  std::lock_guard lock(mutex_);
  return {version(), health_.factors_in_force()};
}

PortWatch::Report PortWatch::report() const {
  std::lock_guard lock(mutex_);
  return {health_.slow_ports(), {changes_.begin(), changes_.end()}};
}

}  // namespace hemiola
