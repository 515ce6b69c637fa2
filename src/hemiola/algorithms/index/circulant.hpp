// SPDX-License-Identifier: Apache-2.0
// Round-optimal broadcast of many blocks on a circulant graph: in round i every role r sends to r + skip[i
// mod q] and receives from r - skip[i mod q], one block each [Träff, 2024, "Optimal broadcast schedules in
// logarithmic time"].
#pragma once

#include <vector>

#include "hemiola/base/index.hpp"

namespace hemiola::algorithms {

class Circulant {
 public:
  explicit Circulant(int role_count);

  int role_count() const { return role_count_; }
  /// ⌈log2 n⌉, the rounds of a phase.
  int phase_rounds() const { return phase_rounds_; }
  /// skip(q) = n, skip(k) = ⌈skip(k+1) / 2⌉.
  int skip(int k) const { return skip_[static_cast<std::size_t>(k)]; }
  /// The role that `role` receives from in a round with skip index k.
  int source(int role, int k) const { return (role - skip(k) + role_count_) % role_count_; }
  /// The block that `role` receives in round k of a phase, relative to the phase's first new block: negative
  /// for blocks of the phase before.
  int received_block(int role, int k) const {
    return received_[static_cast<std::size_t>(role) * static_cast<std::size_t>(phase_rounds_) +
                     static_cast<std::size_t>(k)];
  }

 private:
  int base_block(int role) const;
  std::vector<int> receive_schedule(int role) const;

  int role_count_;
  int phase_rounds_;
  std::vector<int> skip_;
  std::vector<int> received_;
};

}  // namespace hemiola::algorithms
