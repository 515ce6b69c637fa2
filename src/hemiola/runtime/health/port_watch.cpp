#include "hemiola/runtime/health/port_watch.hpp"

#include <utility>

namespace hemiola {

PortWatch::PortWatch(std::span<std::byte> region, Rank self, std::vector<PairSpeed> healthy,
                     const std::map<Rank, double>& assumed, std::int64_t now_ns)
    : meter_(self, std::move(healthy)),
      board_(region, self, meter_.rank_count()),
      best_share_(static_cast<std::size_t>(meter_.rank_count())),
      health_(meter_.rank_count(), assumed, now_ns) {}

void PortWatch::end_operation(std::uint64_t number, std::int64_t now_ns) {
  if (number > 0 && board_.read(number - 1, best_share_)) {
    std::lock_guard lock(mutex_);
    if (health_.judge(number - 1, now_ns, best_share_)) {
      changes_.push_back({number + 1, health_.factors_in_force()});
      if (changes_.size() > kChanges) changes_.pop_front();
      version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
  }
  if (meter_.has_measured()) board_.show(number, meter_.shares());
  meter_.clear();
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
