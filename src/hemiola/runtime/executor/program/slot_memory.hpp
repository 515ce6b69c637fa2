// SPDX-License-Identifier: Apache-2.0
// While a program is compiled: the place of each slice of a slot, its last writer and its present readers. From this
// come the places and the dependencies of every message.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "hemiola/runtime/executor/program/buffer_layout.hpp"
#include "hemiola/runtime/executor/program/message_plan.hpp"
#include "hemiola/runtime/executor/program/program.hpp"
#include "hemiola/runtime/executor/program/slot_trace.hpp"

namespace hemiola {

/// A task by its index in the program.
using TaskIndex = std::int32_t;

/// Blocks of scratch memory for slices. A block goes back to the end of the queue, and is handed out again only some
/// keys later, so that a new user seldom waits for the former ones; it does wait (`former_users`) in any case.
class BlockPool {
 public:
  struct Claim {
    std::int32_t block;
    std::vector<TaskIndex> former_users;
  };
  Claim claim(std::int64_t key);
  void release(std::int32_t block, std::int64_t key, std::vector<TaskIndex> users);
  std::int32_t block_count() const { return block_count_; }

 private:
  struct Free {
    std::int32_t block;
    std::int64_t key;
    std::vector<TaskIndex> users;
  };
  std::deque<Free> free_;
  std::int32_t block_count_ = 0;
};

class SlotMemory {
 public:
  SlotMemory(const SlotTrace& trace, const BufferLayout& layout, std::int64_t slice_bytes, bool in_place);

  /// Makes room for so many reads to be noted.
  void reserve(std::size_t reads) { readers_.reserve(reads); }

  /// One slice of a slot, numbered through.
  std::int32_t unit_of(std::int32_t slot, std::int32_t slice) const {
    return first_unit_[static_cast<std::size_t>(slot)] + slice;
  }
  const Slicing& slicing(std::int32_t slot) const { return slicing_[static_cast<std::size_t>(slot)]; }
  std::int64_t bytes_of(std::int32_t slot, std::int32_t slice) const {
    const auto s = static_cast<std::size_t>(slot);
    return slicing_[s].size(slice, layout_.bytes_of(trace_.slots[s].chunk));
  }

  /// Where the spot's bytes are. A slice's scratch must have been claimed by `enter`.
  Place place(Spot spot, std::int32_t slot, std::int32_t slice) const;

  /// Before an access: gives the slice its scratch, if this is the first to touch it; appends whom to wait for.
  void enter(const SlotAccess& access, std::int32_t slice, std::int64_t key, std::vector<TaskIndex>* waits);
  /// Appends the task that wrote the value to be read.
  void wait_to_read(std::int32_t unit, std::vector<TaskIndex>* waits) const;
  /// Appends the present readers of `spot`, and its last writer.
  void wait_to_write(std::int32_t unit, Spot spot, std::vector<TaskIndex>* waits);
  void note_read(std::int32_t unit, Spot spot, TaskIndex reader);
  void note_write(std::int32_t unit, TaskIndex writer) {
    units_[static_cast<std::size_t>(unit)].last_write = writer;
  }
  /// After an access has been noted: gives scratch back that nobody touches any more.
  void leave(const SlotAccess& access, std::int32_t slice, std::int64_t key);

  BlockPool& pool() { return pool_; }
  std::int64_t block_bytes() const { return block_bytes_; }
  std::int64_t scratch_bytes() const { return scratch_bytes_; }

 private:
  static constexpr TaskIndex kNone = -1;
  /// Output (and the input it coincides with), scratch_a, scratch_b: the spots that can be overwritten.
  static constexpr int kWritable = 3;

  struct Unit {
    TaskIndex last_write = kNone;
    std::array<std::int32_t, kWritable> first_reader{kNone, kNone, kNone};
    std::array<std::int32_t, 2> block{kNone, kNone};
    std::array<std::int32_t, 2> uses_left{0, 0};
  };
  struct Reader {
    TaskIndex task;
    std::int32_t next;
  };

  int writable_index(Spot spot) const;
  void append_readers(std::int32_t unit, int writable, std::vector<TaskIndex>* waits) const;
  bool is_sliced(std::int32_t slot) const { return slicing_[static_cast<std::size_t>(slot)].count > 1; }

  const SlotTrace& trace_;
  const BufferLayout& layout_;
  const bool in_place_;
  std::vector<Slicing> slicing_;
  std::vector<std::int32_t> first_unit_;
  std::vector<std::array<std::int64_t, 2>> scratch_offset_;  ///< of slots that are not sliced
  std::vector<Unit> units_;
  std::vector<Reader> readers_;
  BlockPool pool_;
  std::int64_t block_bytes_ = 0;
  std::int64_t scratch_bytes_ = 0;
};

}  // namespace hemiola
