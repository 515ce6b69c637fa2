// SPDX-License-Identifier: Apache-2.0
// Choices of the first rank to ask, for ranks that have no memory in common: the keeper has the book.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "hemiola/runtime/control/choices.hpp"
#include "hemiola/runtime/control/hosts/replies.hpp"
#include "hemiola/runtime/control/hosts/talk.hpp"
#include "hemiola/runtime/control/pulse.hpp"

namespace hemiola::hosts {

/// By epoch, of the latest two, and digest.
template <typename Entry>
class ChoiceBook {
 public:
  bool is_outdated(const ChoiceKey& key) const {
    return !epochs_.empty() && is_past(key.epoch, epochs_.rbegin()->first);
  }
  /// Not for a key that is outdated. Forgets outdated keys once there is an entry of this epoch.
  Entry& operator[](const ChoiceKey& key) {
    Entry& entry = epochs_[key.epoch][{key.digest.high, key.digest.low}];
    std::erase_if(epochs_, [&](const auto& one) { return is_past(one.first, key.epoch); });
    return entry;
  }
  Entry* find(const ChoiceKey& key) {
    const auto epoch = epochs_.find(key.epoch);
    if (epoch == epochs_.end()) return nullptr;
    const auto entry = epoch->second.find({key.digest.high, key.digest.low});
    return entry == epoch->second.end() ? nullptr : &entry->second;
  }

 private:
  static bool is_past(std::uint64_t epoch, std::uint64_t latest) {
    return epoch < latest && latest - epoch > 1;  // others choose the numbers, so no sum of one
  }

  std::map<std::uint64_t, std::map<std::pair<std::uint64_t, std::uint64_t>, Entry>> epochs_;
};

class ChoiceKeeper {
 public:
  explicit ChoiceKeeper(std::shared_ptr<const Talk> talk);

 private:
  struct Entry {
    Choices::Answer answer;
    std::vector<Rank> waiting;  ///< ranks whose claim was refused; they are told
  };

  void hear(Rank from, std::span<const std::byte> message);

  std::shared_ptr<const Talk> talk_;
  ChoiceBook<Entry> book_;
  std::unique_ptr<Courier::Subscription> subscription_;
};

class HostsChoices final : public Choices {
 public:
  /// `pulse` outlives this: by it a keeper says that it has closed the communicator, and will not answer any more.
  HostsChoices(std::shared_ptr<const Talk> talk, const Pulse* pulse);

  /// Asks nobody about decisions that this rank knows. This and `look` throw LostRankError where the keeper is gone.
  bool claim(const ChoiceKey& key) override;
  void decide(const ChoiceKey& key, std::span<const std::byte> bytes) override;
  Answer look(const ChoiceKey& key) const override;

 private:
  struct Reply {
    bool is_yours;
    Answer answer;
  };

  /// The answer from this rank's own knowledge, if that is enough.
  std::optional<Answer> known(const ChoiceKey& key) const;
  Reply ask(std::uint32_t kind, const ChoiceKey& key) const;
  void check_keeper() const;
  void hear(std::span<const std::byte> message);
  void note(const ChoiceKey& key, const Answer& answer) const;

  std::shared_ptr<const Talk> talk_;
  const Pulse* pulse_;
  std::unique_ptr<ChoiceKeeper> keeper_;  ///< on the first member
  mutable Replies<Reply> replies_;

  mutable std::mutex mutex_;          ///< guards the members below
  mutable ChoiceBook<Answer> known_;  ///< claimed, and then told of, or decided

  std::unique_ptr<Courier::Subscription> subscription_;
};

}  // namespace hemiola::hosts
