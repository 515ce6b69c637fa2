// SPDX-License-Identifier: Apache-2.0
// While a coded program is compiled: which messages carry the same coded form of a slot's value. A form is born when
// the value is first sent, or as it was received. All later sends of that value carry it, and it is gone once the slot
// is written. Its memory is a block, which is used again after its last use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hemiola/runtime/executor/program/program.hpp"
#include "hemiola/runtime/executor/program/rank_part.hpp"
#include "hemiola/runtime/executor/program/slot_memory.hpp"
#include "hemiola/runtime/executor/program/slot_trace.hpp"

namespace hemiola {

/// The most bytes that a value of so many bytes has in a message that joins several, each beginning at a multiple of 8.
std::size_t joined_capacity(std::int64_t bytes);

class CodedForms {
 public:
  /// `memory` says how the slots are cut, and outlives this.
  CodedForms(const RankPart& part, const SlotTrace& trace, const SlotMemory& memory, Coding coding);

  /// The form that a transfer's slice carries, as an index into `take`.
  std::int32_t form_of(std::size_t transfer, std::int32_t slice) const {
    return first_unit_[static_cast<std::size_t>(form_of_[transfer])] + slice;
  }
  /// Before a task uses a form: gives it a block, if this is the first to do so; appends whom to wait for.
  void enter(std::int32_t form, std::int64_t key, std::vector<TaskIndex>* waits);
  /// After: the last use gives the block back.
  void leave(std::int32_t form, TaskIndex user, std::int64_t key);

  /// All of them, once the program's tasks are made, and the bytes of their region.
  std::vector<CodedForm> take() { return std::move(forms_); }
  std::int64_t region_bytes() const { return pool_.block_count() * block_bytes_; }

 private:
  struct Unit {
    bool has_block = false;
    std::int32_t block = 0;
    std::int32_t uses_left = 0;
    std::vector<TaskIndex> former_users = {};
    std::vector<TaskIndex> users = {};
  };
  void number(const RankPart& part, const SlotTrace& trace);
  void lay_out(const SlotMemory& memory, Coding coding);

  struct Form {
    std::int32_t slot;
    bool is_added = false;  ///< see CodedForm
    std::int32_t uses = 0;
  };
  std::vector<std::int32_t> form_of_;  ///< by transfer
  std::vector<Form> of_slots_;
  std::vector<std::int32_t> first_unit_;  ///< by entry of of_slots_; a unit is one slice of it
  std::vector<Unit> units_;
  std::vector<CodedForm> forms_;
  BlockPool pool_;
  std::int64_t block_bytes_ = 0;
};

}  // namespace hemiola
