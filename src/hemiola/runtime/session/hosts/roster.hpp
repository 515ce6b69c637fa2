// SPDX-License-Identifier: Apache-2.0
// The participants of a meeting at rank 0's address. It compares their statements about the job, and tells all of a
// mistake that makes the meeting impossible.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "hemiola/base/deadline.hpp"
#include "hemiola/runtime/session/courier.hpp"

namespace hemiola {

class Roster {
 public:
  /// `courier` outlives it. `job`: its name, for messages.
  Roster(Courier* courier, Rank self, int rank_count, std::string job);

  /// Tells rank 0 that this process is here. Once.
  void sign();
  /// Throws ArgumentError where there is a mistake: differing numbers of ranks, or a rank that comes twice.
  void check() const;
  /// On rank 0, which knows of a mistake: waits a moment for those who come late, to tell them, too.
  void stay() const;

 private:
  /// The statement of a process about itself.
  struct Entry {
    std::int32_t rank_count = 0;
    std::int32_t process = 0;
    std::uint64_t number = 0;  ///< random: of this process alone
    std::string host;

    std::string text() const { return "process " + std::to_string(process) + " on " + host; }
  };

  void hear_joining(Rank from, std::span<const std::byte> message);
  void hear_refusal(std::span<const std::byte> message);
  std::string mistake(Rank rank, const Entry& entry) const;

  Courier* courier_;
  const Rank self_;
  const int rank_count_;
  const std::string job_;

  mutable std::mutex mutex_;  ///< guards the members below
  mutable std::condition_variable changed_;
  std::map<Rank, Entry> entries_;      ///< on rank 0
  std::set<std::uint64_t> processes_;  ///< on rank 0: that have come
  std::string mistake_;

  std::vector<std::unique_ptr<Courier::Subscription>> subscriptions_;
};

}  // namespace hemiola
