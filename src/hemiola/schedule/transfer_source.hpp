// SPDX-License-Identifier: Apache-2.0
// Transfers in step order, block by block, from memory or from a file that does not fit there: all that a
// reader of large schedules needs, and all that `verify` reads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "hemiola/schedule/schedule.hpp"

namespace hemiola {

/// Consecutive transfers of one step. A step may come as several blocks; steps ascend.
struct TransferBlock {
  Step step;
  std::span<const std::uint32_t> link;   ///< indices into TransferSource::pairs()
  std::span<const std::uint32_t> chunk;  ///< as long as `link`
  const std::uint64_t* reduce_words;     ///< bit (first_bit + i) says whether transfer i reduces
  std::int64_t first_bit;

  bool reduces(std::size_t i) const {
    const std::int64_t bit = first_bit + static_cast<std::int64_t>(i);
    return reduce_words[bit / 64] >> (bit % 64) & 1;
  }
};

class TransferSource {
 public:
  virtual ~TransferSource() = default;

  virtual const Collective& collective() const = 0;
  virtual int step_count() const = 0;
  virtual std::int64_t transfer_count() const = 0;
  virtual std::span<const RankPair> pairs() const = 0;
  /// Calls `visit` for every block, from the first step. May be called again, and by several threads at once.
  /// A block is valid only during the call.
  virtual void visit_blocks(const std::function<void(const TransferBlock&)>& visit) const = 0;
};

/// A schedule in memory as a source; the schedule must outlive it.
class ScheduleSource final : public TransferSource {
 public:
  explicit ScheduleSource(const Schedule& schedule) : schedule_(schedule) {}

  const Collective& collective() const override { return schedule_.collective(); }
  int step_count() const override { return schedule_.step_count(); }
  std::int64_t transfer_count() const override { return schedule_.transfer_count(); }
  std::span<const RankPair> pairs() const override { return schedule_.pairs(); }
  void visit_blocks(const std::function<void(const TransferBlock&)>& visit) const override;

 private:
  const Schedule& schedule_;
};

}  // namespace hemiola
