// SPDX-License-Identifier: Apache-2.0
// Judges the transfers of one chunk. Chunks do not affect each other, so a whole schedule is judged chunk by
// chunk with the state of a single one: the content of each of its slots, of the buffer and of scratch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hemiola/schedule/chunk_sorter.hpp"
#include "hemiola/schedule/collective.hpp"
#include "hemiola/schedule/places.hpp"
#include "hemiola/verify/sums.hpp"
#include "hemiola/verify/violation.hpp"

namespace hemiola {

class ChunkJudge {
 public:
  /// `collective` and `report` must outlive the judge. `step_count` is the step of violations of the end.
  /// Ranks have `scratch_count` slots beside the buffer's.
  ChunkJudge(const Collective& collective, int scratch_count, int step_count, bool report_redundant,
             Report* report);

  /// Transfers in step order. Costs O(transfers + places) plus Sums::faulty.
  void judge(Chunk chunk, std::span<const ChunkTransfer> transfers);

 private:
  static constexpr std::int32_t kNone = -1;

  struct Slot {
    Sums::Id holds = Sums::kNothing;  ///< the sum; when not reducing, 0 stands for the chunk's one value
    std::int32_t unread = kNone;      ///< the delivery that nothing has read yet
    std::int32_t copied_at = kNone;   ///< the last step in which a copy (a reduce) wrote the slot
    std::int32_t reduced_at = kNone;
  };

  /// By the number that a ChunkTransfer gives a slot; the buffer's have their ranks' numbers.
  Slot& slot(Rank number) { return slots_[static_cast<std::size_t>(number)]; }
  Rank rank_of(Rank number) const { return Rank{number % collective_.rank_count()}; }
  bool is_wanted(Rank number) const {
    return number < collective_.rank_count() && collective_.wanted_after(number, chunk_);
  }
  std::string name_of_slot(Rank number) const;
  void open();
  void run_step(std::size_t begin, std::size_t end);
  Sums::Id read(std::size_t index);
  void deliver(std::size_t index, Sums::Id value);
  void deliver_copy(std::size_t index, Sums::Id value);
  void deliver_reduce(std::size_t index, Sums::Id value);
  void note_conflict(const ChunkTransfer& t);
  void close();
  void close_sums();
  void report_batch(std::span<const Sums::Id> results, std::uint64_t faults);
  void report_missing(const Sums::Flaw& flaw, Sums::Id result);
  void report_twice(const Sums::Flaw& flaw);
  void say_missing(Rank rank, const auto& missing);
  void report_leftover(std::int32_t delivery);
  void say(Rule rule, Step step, Rank rank, const auto& compose);

  const Collective& collective_;
  const Places places_;
  const int step_count_;
  const bool report_redundant_;
  Report& report_;

  std::vector<Slot> slots_;  ///< by number; all untouched between chunks
  Sums sums_;
  Chunk chunk_{0};
  std::span<const ChunkTransfer> transfers_;
  std::vector<Sums::Id> read_;                      ///< slots that the transfers of the current step read
  std::vector<Sums::Id> results_;                   ///< distinct results of the current chunk
  std::vector<std::pair<Sums::Id, Rank>> holders_;  ///< and their holders, sorted
};

}  // namespace hemiola
