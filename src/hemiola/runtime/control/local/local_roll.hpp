// SPDX-License-Identifier: Apache-2.0
// The roll in shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/runtime/control/roll.hpp"

namespace hemiola {

class LocalRoll final : public Roll {
 public:
  static std::size_t region_bytes(int rank_count);
  /// `region` is zero-filled at first, shared by all ranks, aligned to a cache line, and outlives this.
  LocalRoll(std::span<std::byte> region, Rank self, int rank_count);

  void publish(std::uint64_t number, const Word& word) override;
  bool has_arrived(Rank rank, std::uint64_t number) const override;
  Entry entry(Rank rank, std::uint64_t number) const override;
  bool is_called(std::uint64_t number) const override;
  void complete(std::uint64_t number) override;
  bool has_completed(Rank rank, std::uint64_t number) const override;
  bool keeps_arrivals() const override { return true; }
  std::vector<Arrival> arrivals(std::uint64_t first, std::uint64_t end) const override;

 private:
  struct Slot;
  struct Came;
  struct Row;

  Row& row(Rank rank) const;
  const Slot& slot(Rank rank, std::uint64_t number) const;
  Came& came(Rank rank, std::uint64_t number) const;

  Row* rows_;
  Rank self_;
  int rank_count_;
};

}  // namespace hemiola
