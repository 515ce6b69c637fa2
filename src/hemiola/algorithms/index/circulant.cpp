// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/index/circulant.hpp"

#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

/// Depth-first search for the blocks that a role receives, one per round: paths of decreasing skips from the
/// root to the roles just behind it, each skip used as a path's last one only once [Träff, 2024, Algorithm
/// 5].
class ReceiveSearch {
 public:
  ReceiveSearch(const std::vector<int>& skip, int target, int base_block)
      : skip_(skip),
        target_(target),
        last_(static_cast<int>(skip.size()) - 1),
        next_(skip.size()),
        prev_(skip.size()) {
    for (int e = 0; e <= last_; ++e) {
      at(next_, e) = e - 1;
      at(prev_, e) = e + 1;
    }
    first_ = last_;
    limit_ = 2 * skip.back();
    if (base_block != last_) unlink(base_block);
  }

  std::vector<int> run() {
    search(0, first_);
    return blocks_;
  }

 private:
  static int& at(std::vector<int>& list, int e) { return list[static_cast<std::size_t>(e)]; }
  int skip(int k) const { return skip_[static_cast<std::size_t>(k)]; }
  int round() const { return static_cast<int>(blocks_.size()); }
  bool complete() const { return round() == last_; }

  void unlink(int e) {
    const int after = at(next_, e), before = at(prev_, e);
    if (before <= last_) {
      at(next_, before) = after;
    } else {
      first_ = after;
    }
    if (after >= 0) at(prev_, after) = before;
  }

  /// Extends the path that ends at role `from` by each skip from `e` down.
  void search(int from, int e) {
    for (; e >= 0 && !complete(); e = at(next_, e)) {
      const int reached = from + skip(e);
      if (reached > target_ - skip(round()) || reached >= limit_) continue;
      if (reached <= target_ - skip(round() + 1)) {
        search(reached, e);
        if (complete()) return;
      }
      if (from > target_ - skip(round() + 1)) return;
      limit_ = reached;
      blocks_.push_back(e);
      unlink(e);
    }
  }

  const std::vector<int>& skip_;
  int target_;
  int last_;
  int first_;
  int limit_;
  std::vector<int> next_, prev_, blocks_;
};

}  // namespace

Circulant::Circulant(int role_count) : role_count_(role_count), phase_rounds_(0) {
  while ((1 << phase_rounds_) < role_count) ++phase_rounds_;
  skip_.resize(static_cast<std::size_t>(phase_rounds_) + 1);
  skip_.back() = role_count;
  for (std::size_t k = skip_.size() - 1; k-- > 0;) skip_[k] = (skip_[k + 1] + 1) / 2;
  for (int role = 0; role < role_count; ++role) {
    const std::vector<int> row = receive_schedule(role);
    received_.insert(received_.end(), row.begin(), row.end());
  }
}

int Circulant::base_block(int role) const {
  if (role == 0) return phase_rounds_;
  int k = phase_rounds_ - 1;
  for (; skip(k) != role; --k)
    if (skip(k) < role) role -= skip(k);
  return k;
}

std::vector<int> Circulant::receive_schedule(int role) const {
  const int base = base_block(role);
  std::vector<int> row = ReceiveSearch(skip_, role_count_ + role, base).run();
  HEMIOLA_CHECK(static_cast<int>(row.size()) == phase_rounds_, "incomplete receive schedule");
  for (int& block : row) block = block == phase_rounds_ ? base : block - phase_rounds_;
  return row;
}

}  // namespace hemiola::algorithms
