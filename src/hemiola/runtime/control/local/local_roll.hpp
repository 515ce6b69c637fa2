// The roll in shared memory.
#pragma once

#include <cstddef>
#include <span>

#include "hemiola/runtime/control/roll.hpp"
#include "hemiola/runtime/session/session.hpp"

namespace hemiola {

class LocalRoll final : public Roll {
 public:
  static std::size_t region_bytes(int rank_count);
  /// `region` is zero-filled at first, shared by all ranks, aligned to a cache line, and outlives this, as `clock` does.
  LocalRoll(std::span<std::byte> region, Rank self, int rank_count, const Session* clock);

  void publish(std::uint64_t number, const Word& word) override;
  bool has_arrived(Rank rank, std::uint64_t number) const override;
  Entry entry(Rank rank, std::uint64_t number) const override;
  void complete(std::uint64_t number) override;
  bool has_completed(Rank rank, std::uint64_t number) const override;

 private:
  struct Slot;
  struct Row;

  Row& row(Rank rank) const;
  const Slot& slot(Rank rank, std::uint64_t number) const;

  Row* rows_;
  Rank self_;
  const Session* clock_;
};

}  // namespace hemiola
