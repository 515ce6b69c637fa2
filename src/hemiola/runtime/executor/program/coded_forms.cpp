// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/executor/program/coded_forms.hpp"

#include <algorithm>
#include <utility>

#include "hemiola/base/rounding.hpp"
#include "hemiola/codec/encoder.hpp"
#include "hemiola/codec/format.hpp"

namespace hemiola {
namespace {

constexpr std::int32_t kNone = -1;

/// The form of a slot's present value, and of the one that takes its place with the next step.
struct SlotForms {
  std::int32_t present = kNone;
  std::int32_t next = kNone;
  bool is_written = false;
  Step written_at{0};

  void come_to(Step step) {
    if (!is_written || step == written_at) return;
    present = std::exchange(next, kNone);
    is_written = false;
  }
};

}  // namespace

std::size_t joined_capacity(std::int64_t bytes) {
  return rounded_up(codec::capacity(DType::uint8, static_cast<std::size_t>(bytes)), codec::kIndexAlign);
}

CodedForms::CodedForms(const RankPart& part, const SlotTrace& trace, const SlotMemory& memory,
                       Coding coding) {
  number(part, trace);
  lay_out(memory, coding);
}

/// All sends of a step carry the values before it. A received summand is no other slot's form.
void CodedForms::number(const RankPart& part, const SlotTrace& trace) {
  std::vector<SlotForms> slots(trace.slots.size());
  const auto born = [&](std::int32_t slot, bool is_added = false) {
    of_slots_.push_back({slot, is_added});
    return static_cast<std::int32_t>(of_slots_.size()) - 1;
  };
  form_of_.reserve(part.transfers.size());
  for (std::size_t i = 0; i < part.transfers.size(); ++i) {
    const Transfer& t = part.transfers[i];
    const std::int32_t slot = trace.accesses[i].slot;
    SlotForms& s = slots[static_cast<std::size_t>(slot)];
    s.come_to(t.step);
    std::int32_t form = kNone;
    if (t.src == part.rank) {
      if (s.present == kNone) s.present = born(slot, t.reduce);
      form = s.present;
    } else {
      form = born(slot);
      s.next = t.reduce ? kNone : form;
      s.is_written = true;
      s.written_at = t.step;
    }
    ++of_slots_[static_cast<std::size_t>(form)].uses;
    form_of_.push_back(form);
  }
}

void CodedForms::lay_out(const SlotMemory& memory, Coding coding) {
  first_unit_.reserve(of_slots_.size());
  for (const Form& form : of_slots_) {
    first_unit_.push_back(static_cast<std::int32_t>(units_.size()));
    for (std::int32_t slice = 0; slice < memory.slicing(form.slot).count; ++slice) {
      const std::int64_t bytes = memory.bytes_of(form.slot, slice);
      const auto room =
          static_cast<std::int64_t>(codec::room_for(DType::uint8, static_cast<std::size_t>(bytes)));
      block_bytes_ = std::max(block_bytes_, rounded_up(room, kCacheLine));
      units_.push_back({.uses_left = form.uses});
      const bool is_placed = coding == Coding::eight_bits;  // only an all-reduce's, which has all chunks
      forms_.push_back({.bytes = bytes,
                        .is_added = form.is_added,
                        .begin = is_placed ? memory.place(Spot::output, form.slot, slice).offset : 0});
    }
  }
}

void CodedForms::enter(std::int32_t form, std::int64_t key, std::vector<TaskIndex>* waits) {
  Unit& unit = units_[static_cast<std::size_t>(form)];
  if (!unit.has_block) {
    BlockPool::Claim claim = pool_.claim(key);
    unit.has_block = true;
    unit.block = claim.block;
    unit.former_users = std::move(claim.former_users);
    forms_[static_cast<std::size_t>(form)].offset = claim.block * block_bytes_;
  }
  // Any of the users may be the first to write the block.
  waits->insert(waits->end(), unit.former_users.begin(), unit.former_users.end());
}

void CodedForms::leave(std::int32_t form, TaskIndex user, std::int64_t key) {
  Unit& unit = units_[static_cast<std::size_t>(form)];
  unit.users.push_back(user);
  if (--unit.uses_left > 0) return;
  pool_.release(unit.block, key, std::move(unit.users));
  unit.former_users = {};
}

}  // namespace hemiola
