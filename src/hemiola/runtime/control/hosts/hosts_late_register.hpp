// SPDX-License-Identifier: Apache-2.0
// Ranks without memory in common agree here on the late rank. The keeper has the words, and its courier's thread
// answers, however busy its process is.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "hemiola/runtime/control/hosts/replies.hpp"
#include "hemiola/runtime/control/hosts/talk.hpp"
#include "hemiola/runtime/control/late_register.hpp"

namespace hemiola::hosts {

/// A request is one access to one word, at the moment at which the keeper comes to it, so ranks interleave like those that
/// share memory.
struct LateAsked {
  std::uint64_t number = 0;
  std::uint64_t operation = 0;
  std::uint64_t expected = 0;  ///< while arrivals are awaited: how many; as one arrives: among how many
  std::uint64_t desired = 0;
};

class LateKeeper {
 public:
  explicit LateKeeper(std::shared_ptr<const Talk> talk);

 private:
  struct Waiting {
    Rank rank;
    LateAsked asked;
  };

  void hear(Rank from, std::span<const std::byte> message);
  void answer(Rank to, const LateAsked& asked) const;
  void answer_waiting();
  bool is_due(const LateAsked& asked) const;

  std::shared_ptr<const Talk> talk_;
  std::array<std::uint64_t, 2> words_{};  ///< by operation % 2
  std::vector<Waiting> waiting_;
  std::unique_ptr<Courier::Subscription> subscription_;
};

class HostsLateRegister final : public LateRegister {
 public:
  explicit HostsLateRegister(std::shared_ptr<const Talk> talk);

  std::uint64_t arrive(std::uint64_t operation, Rank self, int rank_count, const Check& check) override;
  std::uint64_t load(std::uint64_t operation, const Check& check) override;
  bool compare_exchange(std::uint64_t operation, std::uint64_t& expected, std::uint64_t desired,
                        const Check& check) override;
  void await_arrivals(std::uint64_t operation, int count, const Check& check) override;

 private:
  std::shared_ptr<const Talk> talk_;
  std::unique_ptr<LateKeeper> keeper_;  ///< on the first member
  Replies<std::uint64_t> replies_;      ///< the word that was found
  std::unique_ptr<Courier::Subscription> subscription_;
};

}  // namespace hemiola::hosts
