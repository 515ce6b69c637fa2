// SPDX-License-Identifier: Apache-2.0
// The conditions that each transfer of a schedule waits for in the slots it reads and writes, and nothing
// about networks.
//
// A slot is read and written in the order of the schedule's steps, in each step first read, then written:
//   - a read may start when every write of an earlier step has landed;
//   - a write may land when every write before it (in order of step, then src) has landed and every read of
//   its own or
// an earlier step has left. Until then the arrived value is kept aside, as an engine that stages it would.
// Waiting at the landing and never at the sending end makes any schedule come to an end: each condition
// refers to earlier steps, or to reads of the same one.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/base/huge_pages.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/simulate/scenario.hpp"

namespace hemiola::simulation {

class Dataflow {
 public:
  static constexpr Picoseconds kNotYet = -1;

  explicit Dataflow(const Scenario& scenario);

  /// How many transfers must land.
  std::int64_t message_count() const { return message_count_; }

  /// Whether nothing has to land before t can read.
  bool can_read_at_once(TransferId t) const { return messages_[t].reads_at_once; }

  /// The last byte of t leaves its slot at `end`. Returns the transfer that has arrived and waited for just
  /// this, which may now land (at landing_time), or kNoTransfer.
  TransferId leave(TransferId t, Picoseconds end) {
    Slot& slot = slots_[messages_[t].src_slot];
    ++slot.left;
    if (end > slot.last_left) slot.last_left = end;
    if (slot.waiting == 0) [[likely]]
      return kNoTransfer;
    return wake_next_write(&slot);
  }

  /// Fetches the memory that landing_time and land will read; slots are touched in no order.
  void prefetch_landing(TransferId t) const { __builtin_prefetch(&slots_[messages_[t].dst_slot]); }

  /// When t, all of which has arrived by `now`, lands; kNotYet if that is unknown, and leave or land will
  /// return t later.
  Picoseconds landing_time(TransferId t, Picoseconds now) {
    Slot& slot = slots_[messages_[t].dst_slot];
    if (slot.next_write != t || slot.left != messages_[t].reads_before) [[unlikely]] {
      ++slot.waiting;
      waiting_[t] = 1;
      return kNotYet;
    }
    return slot.last_left > now ? slot.last_left : now;
  }

  /// t lands; ready(reader) is called for each transfer that may read now. Returns like leave.
  template <typename Ready>
  TransferId land(TransferId t, Ready ready) {
    Slot& slot = slots_[messages_[t].dst_slot];
    slot.next_write = messages_[t].next_write;
    for (TransferId reader = messages_[t].first_reader; reader != kNoTransfer;
         reader = messages_[reader].next_reader)
      ready(reader);
    return slot.waiting == 0 ? kNoTransfer : wake_next_write(&slot);
  }

 private:
  struct Message {
    std::uint32_t src_slot;
    std::uint32_t dst_slot;
    TransferId first_reader = kNoTransfer;  ///< the first of the reads for which this is the last write
    TransferId next_reader = kNoTransfer;   ///< the next read that waits for the same write
    TransferId next_write = kNoTransfer;    ///< the next transfer that writes dst_slot
    std::uint32_t reads_before : 31 = 0;    ///< of dst_slot, at this step or earlier
    std::uint32_t reads_at_once : 1 = 1;    ///< no write to src_slot comes before
  };
  struct Slot {
    TransferId next_write = kNoTransfer;  ///< the first that has not landed
    std::uint32_t left = 0;               ///< reads whose end is known
    std::uint32_t waiting = 0;            ///< writes that arrived and were told kNotYet
    Picoseconds last_left = 0;            ///< when the last of those reads ends
  };

  void assign_slots(const Schedule& schedule);
  void string_accesses(const Scenario& scenario);

  TransferId wake_next_write(Slot* slot) {
    const TransferId t = slot->next_write;
    if (t == kNoTransfer || !waiting_[t] || messages_[t].reads_before != slot->left) return kNoTransfer;
    --slot->waiting;
    waiting_[t] = 0;
    return t;
  }

  std::int64_t message_count_ = 0;
  LargeVector<Message> messages_;
  LargeVector<Slot> slots_;
  LargeVector<std::uint8_t> waiting_;
};

}  // namespace hemiola::simulation
