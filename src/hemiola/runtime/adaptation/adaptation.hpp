// SPDX-License-Identifier: Apache-2.0
// How a communicator adapts to its operations. Every learner gets a note per operation, equal on all ranks. If its findings
// change, an epoch begins: from the next operation on, all ranks plan and run by the new findings.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "hemiola/runtime/adaptation/learner.hpp"

namespace hemiola {

class Adaptation {
 public:
  /// All ranks add the same between the same two operations, while no other thread asks.
  void add(std::shared_ptr<Learner> learner) { learners_.push_back(std::move(learner)); }

  /// An operation has succeeded, on all ranks.
  void note(const Note& note) {
    bool changes = false;
    for (const auto& learner : learners_)
      if (learner->note(note)) changes = true;
    if (changes) begin_epoch();
  }
  /// Call it after the change: a thread that reads the new number then reads the new findings.
  void begin_epoch() { epoch_.fetch_add(1, std::memory_order_release); }

  /// A call that was prepared in another epoch is outdated. Any thread may call this and `findings`.
  std::uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  Findings findings(const Signature& call) const {
    Findings found{.epoch = epoch()};
    for (const auto& learner : learners_) learner->find(call, &found);
    if (!found.ports.slow.empty()) found.late = {};  // plans for a late rank take healthy ports as given
    return found;
  }

 private:
  std::vector<std::shared_ptr<Learner>> learners_;
  std::atomic<std::uint64_t> epoch_ = 0;
};

}  // namespace hemiola
