// SPDX-License-Identifier: Apache-2.0
// The ranks of a job on several hosts agree here on the next members. They vote (survivors_vote.hpp) by courier.
// In the courier's thread a rank still answers after it has its own result.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "hemiola/base/deadline.hpp"
#include "hemiola/runtime/session/courier.hpp"
#include "hemiola/runtime/session/hosts/packed_vote.hpp"
#include "hemiola/runtime/session/hosts/survivors_vote.hpp"
#include "hemiola/runtime/session/session.hpp"

namespace hemiola {

class SurvivorsDesk {
 public:
  using Lost = std::function<std::vector<LostRank>()>;

  /// `courier` outlives it. `lost`: as Session::lost.
  SurvivorsDesk(Courier* courier, Rank self, Lost lost);

  /// What a rank brings to an agreement; as SurvivorsVote::come.
  struct Ask {
    bool leaves = false;
    std::vector<Guest> guests{};
    Rank next_number{-1};
  };
  /// As Session::next_members, for members that have been checked.
  SurvivorsVote::Decision next_members(const std::vector<Rank>& members, std::string_view name,
                                       const Ask& ask, const Deadline& deadline);

 private:
  struct Agreement {
    SurvivorsVote vote;
    std::vector<Rank> present;  ///< as the leader last said
    std::uint64_t told = 0;     ///< how often it has said so
    std::uint64_t number = 0;   ///< the how manieth to be heard of
    bool is_awaited = false;    ///< by this rank, which may have run out of time and come again
  };

  Agreement& agreement(const AgreementName& name, const std::vector<Rank>& members);
  void forget_old();
  void hear_vote(Rank from, std::span<const std::byte> message);
  void hear_question(Rank from, std::span<const std::byte> message);
  void hear_presence(std::span<const std::byte> message);
  void tell_lost(Agreement& agreement);
  [[noreturn]] void throw_undecided(const Agreement& agreement, const std::vector<Rank>& members,
                                    const Deadline& deadline) const;
  void await_presence(const AgreementName& name, Agreement& agreement, std::unique_lock<std::mutex>& lock);

  Courier* courier_;
  const Rank self_;
  Lost lost_;

  std::mutex mutex_;  ///< guards the members below
  std::condition_variable changed_;
  std::map<AgreementName, std::unique_ptr<Agreement>> agreements_;
  std::uint64_t next_number_ = 0;

  std::vector<std::unique_ptr<Courier::Subscription>> subscriptions_;
};

}  // namespace hemiola
