// SPDX-License-Identifier: Apache-2.0
// The figures of port meters, for ranks that have no memory in common. The keeper merges all figures and tells all,
// while the next operation runs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "hemiola/runtime/control/figures.hpp"
#include "hemiola/runtime/control/hosts/replies.hpp"
#include "hemiola/runtime/control/hosts/talk.hpp"

namespace hemiola::hosts {

class FigureKeeper {
 public:
  explicit FigureKeeper(std::shared_ptr<const Talk> talk);

 private:
  /// Of one operation.
  struct Page {
    std::vector<float> best;
    int shown = 0;
  };

  void hear(std::span<const std::byte> message);

  std::shared_ptr<const Talk> talk_;
  std::map<std::uint64_t, Page> pages_;
  std::unique_ptr<Courier::Subscription> subscription_;
};

class HostsFigures final : public Figures {
 public:
  explicit HostsFigures(std::shared_ptr<const Talk> talk);

  void show(std::uint64_t number, std::span<const float> shares) override;
  bool read(std::uint64_t number, std::span<double> best_share, const Check& check) const override;

 private:
  std::shared_ptr<const Talk> talk_;
  std::unique_ptr<FigureKeeper> keeper_;  ///< on the first member
  mutable Replies<std::vector<float>> replies_;
  std::unique_ptr<Courier::Subscription> subscription_;
};

}  // namespace hemiola::hosts
