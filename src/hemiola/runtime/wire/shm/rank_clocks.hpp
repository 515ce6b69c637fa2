// SPDX-License-Identifier: Apache-2.0
// How long the ranks of one machine have run: their processes' clocks, which the system shows to other processes, too.
#pragma once

#include <utility>
#include <vector>

#include "hemiola/base/core_use.hpp"
#include "hemiola/runtime/wire/shm/peer_memory.hpp"

namespace hemiola {

class RankClocks final : public CoreUseMeter {
 public:
  /// `ranks`: the caller's own, too.
  explicit RankClocks(std::vector<PeerMemory> ranks) : ranks_(std::move(ranks)) {}

  /// Nothing, too, where a rank's memory cannot be read: then its process may be another than it seems.
  std::optional<CoreUse> read() const override;

 private:
  std::vector<PeerMemory> ranks_;
};

}  // namespace hemiola
