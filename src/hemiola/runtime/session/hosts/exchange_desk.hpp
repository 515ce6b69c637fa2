// SPDX-License-Identifier: Apache-2.0
// Everybody's bytes to everybody, by courier: the first member gathers and tells, in its courier's thread, whether or not it
// has come itself.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "hemiola/base/deadline.hpp"
#include "hemiola/base/hash.hpp"
#include "hemiola/runtime/session/courier.hpp"
#include "hemiola/runtime/session/session.hpp"

namespace hemiola {

class ExchangeDesk {
 public:
  /// Of the session of the same names.
  struct Facts {
    std::function<std::vector<LostRank>()> lost;
    std::function<std::vector<std::string>()> complaints;
    std::function<std::int64_t()> now_ns;
  };

  /// `courier` outlives it.
  ExchangeDesk(Courier* courier, Rank self, Facts facts);

  /// As Session::exchange, for members and sizes that have been checked.
  std::vector<Bytes> exchange(const std::vector<Rank>& members, std::string_view key,
                              std::span<const std::byte> own, const Deadline& deadline);

 private:
  /// Which exchange: of whom, and the how manieth of these.
  struct Name {
    std::uint64_t members_high = 0, members_low = 0, round = 0;
    friend auto operator<=>(const Name&, const Name&) = default;
  };
  struct Brought {
    std::string key;
    Bytes bytes;
  };
  /// At the first member.
  using Gathering = std::map<Rank, Brought>;
  /// A member's knowledge of an exchange in which it takes part.
  struct Outcome {
    Rank first{0};  ///< of the members
    std::size_t member_count = 0;
    bool is_over = false;
    std::string mismatch;
    std::vector<Bytes> all;
    std::vector<Rank> present;  ///< as the first member last said
    std::vector<std::pair<Rank, Cause>> lost;
    std::string complaints;  ///< of the first member
    std::uint64_t told = 0;  ///< how often it has said so
  };

  static Name named(const std::vector<Rank>& members, std::uint64_t round);
  void hear_bringing(Rank from, std::span<const std::byte> message);
  void hear_question(Rank from, std::span<const std::byte> message);
  void hear_outcome(Rank from, std::span<const std::byte> message);
  void hear_presence(std::span<const std::byte> message);
  void conclude(const Name& name, const std::vector<Rank>& members, const Gathering& gathering);
  void ask(const Name& name, const std::vector<Rank>& members);
  void check_lost(const std::vector<Rank>& members, const Outcome& outcome) const;
  [[noreturn]] void throw_absent(const std::vector<Rank>& members, std::string_view key,
                                 const Outcome& outcome, const Deadline& deadline) const;

  Courier* courier_;
  const Rank self_;
  Facts facts_;

  std::map<Name, Gathering> gatherings_;  ///< of the courier's thread

  std::mutex mutex_;  ///< guards the members below
  std::condition_variable changed_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> rounds_;  ///< by the members' digest
  std::map<Name, Outcome> outcomes_;

  std::vector<std::unique_ptr<Courier::Subscription>> subscriptions_;
};

}  // namespace hemiola
