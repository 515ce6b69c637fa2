// SPDX-License-Identifier: Apache-2.0
// A collective plus its transfers, ordered by step: the one artefact that is verified, simulated, drawn,
// exported and run. Columnar, so that 10^9 transfers fit in memory. docs/decisions/0001-schedule.md defines a
// step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/base/hash.hpp"
#include "hemiola/base/index.hpp"
#include "hemiola/schedule/collective.hpp"
#include "hemiola/schedule/pair_table.hpp"

namespace hemiola {

/// Copy a chunk to `dst`, or add it into dst's. Slot 0 of a chunk is the buffer's; those above are scratch, which holds
/// nothing before the schedule and is forgotten after it. Within a rank (src == dst) the two slots differ.
struct Transfer {
  Step step;
  Rank src;
  Rank dst;
  Chunk chunk;
  bool reduce = false;
  std::int32_t src_slot = 0;
  std::int32_t dst_slot = 0;

  friend bool operator==(const Transfer&, const Transfer&) = default;
};

/// Immutable. Within a step, transfers are sorted by (src, dst, src_slot, dst_slot, chunk, reduce); pairs are sorted too, so
/// equal schedules have equal columns. Built by ScheduleBuilder.
class Schedule {
 public:
  const Collective& collective() const { return collective_; }
  int rank_count() const { return collective_.rank_count(); }
  int chunk_count() const { return collective_.chunk_count(); }
  int step_count() const { return static_cast<int>(step_offset_.size()) - 1; }
  std::int64_t transfer_count() const { return static_cast<std::int64_t>(link_.size()); }

  /// Relative chunk sizes, non-negative integers with a positive sum; empty means all equal.
  const std::vector<std::int64_t>& chunk_weights() const { return chunk_weights_; }

  /// How many scratch slots a rank has for each chunk, beside the buffer's: the highest that a transfer names.
  int scratch_count() const { return scratch_count_; }

  /// The columns. Transfers of step t are [step_offset[t], step_offset[t+1]).
  std::span<const std::int64_t> step_offset() const { return step_offset_; }
  std::span<const std::uint32_t> link() const { return link_; }
  std::span<const std::uint32_t> chunk() const { return chunk_; }
  /// Bit i % 64 of word i / 64 says whether transfer i reduces.
  std::span<const std::uint64_t> reduce_words() const { return reduce_; }
  std::span<const RankPair> pairs() const { return pairs_; }

  RankPair pair_of(std::int64_t transfer) const { return pairs_[link_[static_cast<std::size_t>(transfer)]]; }
  Chunk chunk_of(std::int64_t transfer) const { return Chunk{chunk_[static_cast<std::size_t>(transfer)]}; }
  bool reduces(std::int64_t transfer) const {
    return reduce_[static_cast<std::size_t>(transfer) / 64] >> (transfer % 64) & 1;
  }
  Transfer transfer(Step step, std::int64_t index) const {
    const RankPair pair = pair_of(index);
    return {step, pair.src, pair.dst, chunk_of(index), reduces(index), pair.src_slot, pair.dst_slot};
  }

  /// Calls visit(Transfer) for each transfer in order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (Step step : indices<Step>(step_count()))
      for (std::int64_t i = step_offset_[static_cast<std::size_t>(step)];
           i < step_offset_[static_cast<std::size_t>(step) + 1]; ++i)
        visit(transfer(step, i));
  }

  /// The columns of a schedule whose transfers are in canonical order already, for generators of millions of
  /// them.
  struct Columns {
    std::vector<std::int64_t> step_offset;
    std::vector<std::uint32_t> link, chunk;
    std::vector<std::uint64_t> reduce_words;
    std::vector<RankPair> pairs;
  };
  /// Takes the columns as they are. Throws InternalError where they are not canonical: columns of different
  /// lengths, unsorted, unknown or unused pairs, an unknown chunk, transfers of a step out of order. Chunks
  /// are of equal weight.
  static Schedule from_columns(Collective collective, Columns columns);

  /// A hash of collective, weights and transfers: equal schedules have equal digests on every rank and
  /// machine.
  const Hash128& digest() const { return digest_; }

  friend bool operator==(const Schedule&, const Schedule&) = default;

 private:
  friend class ScheduleBuilder;
  explicit Schedule(Collective collective) : collective_(std::move(collective)) {}

  Hash128 compute_digest() const;

  Hash128 digest_;  ///< first, so that schedules that differ are told apart at once
  Collective collective_;
  std::vector<std::int64_t> chunk_weights_;
  int scratch_count_ = 0;
  std::vector<std::int64_t> step_offset_;
  std::vector<std::uint32_t> link_;
  std::vector<std::uint32_t> chunk_;
  std::vector<std::uint64_t> reduce_;
  std::vector<RankPair> pairs_;
};

/// Throws ArgumentError for a schedule with scratch: says that `what` ("reverse") takes none.
void refuse_scratch(const Schedule& schedule, const char* what);

/// Where each chunk lies in a buffer of `size` units (elements or bytes): chunk c is [begin[c], begin[c+1]).
/// Chunk sizes follow the weights and differ by at most one unit from exact proportion; begin[c] = floor(size
/// * prefix(c) / total). For an all_to_all, `size` is the whole exchange: rank_count times one rank's buffer.
std::vector<std::int64_t> chunk_begins(const Schedule& schedule, std::int64_t size);
/// The same without a schedule; no weights: all alike.
std::vector<std::int64_t> chunk_begins(std::int64_t chunk_count, std::span<const std::int64_t> weights,
                                       std::int64_t size);

/// The size of the space that `chunk_begins` divides, for a per-rank buffer of `size`: size, or rank_count *
/// size for all_to_all.
std::int64_t exchange_size(const Collective& collective, std::int64_t size);

/// Collects transfers in any order and makes a Schedule of them. Fastest, and without a second copy, when
/// steps ascend.
class ScheduleBuilder {
 public:
  static constexpr int kMaxSteps = 1 << 24;
  static constexpr int kMaxScratch = (1 << 16) - 1;
  /// Of all ranks for one chunk.
  static constexpr std::int64_t kMaxSlots = std::int64_t{1} << 22;

  explicit ScheduleBuilder(Collective collective);

  const Collective& collective() const { return collective_; }
  int rank_count() const { return collective_.rank_count(); }

  /// Throws ArgumentError for a step < 0 or >= kMaxSteps, ranks or chunks that do not exist, slots beyond kMaxScratch or
  /// kMaxSlots, or a slot that would be sent to itself.
  void add(const Transfer& transfer);
  void copy(Step step, Rank src, Rank dst, Chunk chunk) { add({step, src, dst, chunk, false}); }
  void reduce(Step step, Rank src, Rank dst, Chunk chunk) { add({step, src, dst, chunk, true}); }

  /// Throws ArgumentError unless there is one weight >= 0 per chunk and their sum is in 1 … 2^62.
  void set_chunk_weights(std::vector<std::int64_t> weights);
  void reserve(std::int64_t transfer_count);

  /// Sorts into canonical order. Empty steps are kept only up to the last used one. Leaves the builder empty.
  Schedule finish();

 private:
  /// Consecutive transfers of one step, from `begin` to the next run.
  struct Run {
    Step step;
    std::int64_t begin;
  };
  void check(const Transfer& transfer) const;
  std::vector<std::int64_t> step_offsets() const;
  bool steps_ascend() const;
  void gather_steps(const std::vector<std::int64_t>& step_offset);
  void renumber_pairs(std::vector<RankPair>* sorted);
  void sort_step(std::size_t begin, std::size_t end);

  Collective collective_;
  std::vector<std::int64_t> weights_;
  PairTable pairs_;
  std::vector<Run> runs_;
  std::vector<std::uint32_t> link_;
  std::vector<std::uint32_t> chunk_reduce_;  ///< 2 * chunk + reduce
  std::vector<std::uint64_t> keys_;          ///< scratch of sort_step
};

}  // namespace hemiola
