// SPDX-License-Identifier: Apache-2.0
// The pulse in shared memory. A rank that it cannot reach is dead, and the session sees that.
#pragma once

#include <cstddef>
#include <span>

#include "hemiola/runtime/control/pulse.hpp"

namespace hemiola {

class LocalPulse final : public Pulse {
 public:
  static std::size_t region_bytes(int rank_count);
  /// `region` as LocalRoll wants it; `clock` outlives this.
  LocalPulse(std::span<std::byte> region, Rank self, int rank_count, const Session* clock);

  void beat() override;
  std::int64_t last_sign_ns(Rank rank) const override;
  void give_up(Failure failure, const Cause& cause) override;
  std::vector<GivenUp> given_up() const override;
  std::vector<LostRank> lost() const override { return {}; }

 private:
  struct State;
  struct Board;
  State& state(Rank rank) const;

  Board* board_;
  Rank self_;
  int rank_count_;
  const Session* clock_;
};

}  // namespace hemiola
