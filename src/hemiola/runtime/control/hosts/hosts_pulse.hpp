// SPDX-License-Identifier: Apache-2.0
// Signs of life, and the word of a rank that gives up, where ranks have no memory in common. Whether a process lives is the
// session's affair; here ranks say that they wait, now and then.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "hemiola/runtime/control/hosts/progress.hpp"
#include "hemiola/runtime/control/hosts/talk.hpp"
#include "hemiola/runtime/control/pulse.hpp"

namespace hemiola::hosts {

/// Hands everybody's latest signs on to all, a few times a second and only while somebody waits.
class PulseKeeper {
 public:
  explicit PulseKeeper(std::shared_ptr<const Talk> talk);

 private:
  void hear(Rank from, std::span<const std::byte> message);

  std::shared_ptr<const Talk> talk_;
  std::vector<std::int64_t> signs_ns_;
  std::int64_t told_ns_ = 0;
  std::unique_ptr<Courier::Subscription> subscription_;
};

class HostsPulse final : public Pulse {
 public:
  HostsPulse(std::shared_ptr<const Talk> talk, std::shared_ptr<Progress> progress);

  void beat() override;
  std::int64_t last_sign_ns(Rank rank) const override;
  void give_up(Failure failure, const Cause& cause) override;
  std::vector<GivenUp> given_up() const override;
  std::vector<LostRank> lost() const override { return {}; }

 private:
  void hear(Rank from, std::span<const std::byte> message);

  std::shared_ptr<const Talk> talk_;
  std::shared_ptr<Progress> progress_;
  std::unique_ptr<PulseKeeper> keeper_;  ///< on the first member
  std::atomic<std::int64_t> beat_ns_ = 0;
  std::atomic<bool> has_given_up_ = false;

  mutable std::mutex mutex_;  ///< guards the members below
  std::vector<std::int64_t> signs_ns_;
  std::vector<std::optional<GivenUp>> given_up_;

  std::unique_ptr<Courier::Subscription> subscription_;
};

}  // namespace hemiola::hosts
