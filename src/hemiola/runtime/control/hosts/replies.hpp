// SPDX-License-Identifier: Apache-2.0
// Answers of the keeper to a rank's questions, and waiting for them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "hemiola/runtime/control/hosts/talk.hpp"

namespace hemiola::hosts {

template <typename Reply>
class Replies {
 public:
  explicit Replies(std::shared_ptr<const Talk> talk) : talk_(std::move(talk)) {}

  /// For a new question.
  std::uint64_t number() {
    const std::lock_guard lock(mutex_);
    return ++asked_;
  }

  void arrive(std::uint64_t number, Reply reply) {
    const std::lock_guard lock(mutex_);
    arrived_.emplace(number, std::move(reply));
    changed_.notify_all();
  }

  /// Throws the errors of `check`, and a LostRankError if the keeper will not answer any more.
  Reply await(std::uint64_t number, const std::function<void()>& check) {
    std::unique_lock lock(mutex_);
    while (true) {
      if (const auto found = arrived_.extract(number)) return std::move(found.mapped());
      if (changed_.wait_for(lock, kGlance) == std::cv_status::no_timeout) continue;
      lock.unlock();
      if (check) check();
      check_keeper();
      lock.lock();
    }
  }

 private:
  static constexpr auto kGlance = std::chrono::milliseconds(5);

  void check_keeper() const {
    const Members& members = talk_->members();
    for (const LostRank& lost : members.session->lost())
      if (lost.rank == members.world_rank(Talk::kKeeper))
        members.throw_for(lost.cause(), members.described(lost.cause()) + ", and " +
                                            members.name(Talk::kKeeper) + " kept the books for all");
  }

  std::shared_ptr<const Talk> talk_;
  std::mutex mutex_;  ///< guards the members below
  std::condition_variable changed_;
  std::uint64_t asked_ = 0;
  std::map<std::uint64_t, Reply> arrived_;
};

}  // namespace hemiola::hosts
