// SPDX-License-Identifier: Apache-2.0
// The roll of ranks that have no memory in common. In steady state no rank says anything here: messages of the wire
// carry a digest of the operation. A rank that ends an operation in which all depend on all knows that they agree. In
// other operations words travel to the keeper, and on to all if ranks disagree or one of them asks. If they agree, the
// keeper tells all that, and whether anybody calls for the next members.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "hemiola/base/short_text.hpp"
#include "hemiola/runtime/control/hosts/progress.hpp"
#include "hemiola/runtime/control/hosts/talk.hpp"
#include "hemiola/runtime/control/roll.hpp"

namespace hemiola::hosts {

/// A rank's words about an operation to which it has come. Sent without the text if there is none.
struct SaidWord {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::uint64_t number = kNone;  ///< of the operation
  Arrival arrival;
  Rank rank{0};
  std::uint32_t complains = 0;
  std::uint32_t is_timed = 0;  ///< the keeper tells all when each has come
  std::uint32_t calls = 0;     ///< for the next members
  Signature signature{};
  ShortText complaint{};
};

/// The first member's books: the ranks' words about the latest operations.
class RollKeeper {
 public:
  explicit RollKeeper(std::shared_ptr<const Talk> talk);

 private:
  /// Of one operation.
  struct Tally {
    std::vector<std::optional<SaidWord>> words;
    int count = 0;
    bool is_wanted = false;  ///< words go to everybody
  };

  void hear(Rank from, std::span<const std::byte> message);
  void take(const SaidWord& word);
  void call(std::uint64_t number);
  Tally* tally(std::uint64_t number);
  static bool agree(const Tally& tally);
  static bool is_called(const Tally& tally);
  static std::vector<Arrival> arrivals(const Tally& tally);

  std::shared_ptr<const Talk> talk_;
  std::map<std::uint64_t, Tally> tallies_;
  std::unique_ptr<Courier::Subscription> subscription_;
};

class HostsRoll final : public Roll {
 public:
  HostsRoll(std::shared_ptr<const Talk> talk, std::shared_ptr<Progress> progress);

  void publish(std::uint64_t number, const Word& word) override;
  void call(std::uint64_t number) override;
  void vote(std::uint64_t number) override;
  bool has_arrived(Rank rank, std::uint64_t number) const override;
  Entry entry(Rank rank, std::uint64_t number) const override;
  bool is_called(std::uint64_t number) const override;
  void complete(std::uint64_t number) override;
  bool has_completed(Rank rank, std::uint64_t number) const override;

 private:
  void hear(std::span<const std::byte> message);
  void hear_word(const SaidWord& word);
  const SaidWord* known(Rank rank, std::uint64_t number) const;
  void send_own(std::uint64_t number);

  std::shared_ptr<const Talk> talk_;
  std::shared_ptr<Progress> progress_;
  std::unique_ptr<RollKeeper> keeper_;  ///< on the first member

  mutable std::mutex mutex_;  ///< guards the members below
  /// By rank, of two operations in turn; this rank's own among them.
  std::vector<std::array<SaidWord, 2>> words_;
  std::array<std::uint64_t, 2> sent_{};  ///< of these two: number + 1, once the keeper has this rank's word
  std::uint64_t published_ = 0;          ///< operations
  std::uint64_t wanted_ = 0;             ///< number + 1 of the latest operation whose words are wanted
  std::uint64_t agreed_ = 0;  ///< number + 1 of the latest operation to which all have come and agree
  std::uint64_t called_ = 0;  ///< the same of one in which somebody calls for the next members
  /// By rank, of two operations in turn: when each came. Empty: nobody wanted to know.
  std::array<std::vector<Arrival>, 2> arrivals_;

  std::unique_ptr<Courier::Subscription> subscription_;
};

}  // namespace hemiola::hosts
