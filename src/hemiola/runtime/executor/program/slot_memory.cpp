// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/executor/program/slot_memory.hpp"

#include <algorithm>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

/// How many keys a block rests before it is used again: enough for a slow send to finish, few enough to stay in cache.
constexpr std::int64_t kRestKeys = 2;

constexpr std::array<Spot, 2> kScratchSpots{Spot::scratch_a, Spot::scratch_b};

}  // namespace

BlockPool::Claim BlockPool::claim(std::int64_t key) {
  if (free_.empty() || free_.front().key + kRestKeys > key) return {block_count_++, {}};
  Claim claim{free_.front().block, std::move(free_.front().users)};
  free_.pop_front();
  return claim;
}

void BlockPool::release(std::int32_t block, std::int64_t key, std::vector<TaskIndex> users) {
  free_.push_back({block, key, std::move(users)});
}

SlotMemory::SlotMemory(const SlotTrace& trace, const BufferLayout& layout, std::int64_t slice_bytes,
                       bool in_place)
    : trace_(trace), layout_(layout), in_place_(in_place), scratch_offset_(trace.slots.size()) {
  std::int32_t unit = 0;
  slicing_.reserve(trace.slots.size());
  first_unit_.reserve(trace.slots.size());
  for (const Slot& slot : trace.slots) {
    slicing_.push_back(slicing_of(layout.bytes_of(slot.chunk), slice_bytes));
    first_unit_.push_back(unit);
    unit += slicing_.back().count;
    // A staged message may use a block, too, so every sliced slot counts.
    if (slicing_.back().count > 1) block_bytes_ = std::max(block_bytes_, slicing_.back().bytes);
  }
  units_.resize(static_cast<std::size_t>(unit));
  // All first spots in chunk order, then all second ones: neighbouring chunks stay neighbours.
  for (std::size_t spot = 0; spot < 2; ++spot)
    for (std::size_t s = 0; s < trace.slots.size(); ++s) {
      const std::int32_t uses = spot == 0 ? trace.slots[s].uses_a : trace.slots[s].uses_b;
      for (std::int32_t u = first_unit_[s]; u < first_unit_[s] + slicing_[s].count; ++u)
        units_[static_cast<std::size_t>(u)].uses_left[spot] = uses;
      if (uses == 0 || slicing_[s].count > 1) continue;
      scratch_offset_[s][spot] = scratch_bytes_;
      scratch_bytes_ += layout.bytes_of(trace.slots[s].chunk);
    }
}

Place SlotMemory::place(Spot spot, std::int32_t slot, std::int32_t slice) const {
  const auto s = static_cast<std::size_t>(slot);
  const Chunk chunk = trace_.slots[s].chunk;
  const std::int64_t in_chunk = slicing_[s].begin(slice);
  switch (spot) {
    case Spot::input:
      return {Region::input, layout_.input_offset(chunk) + in_chunk};
    case Spot::output:
      return {Region::output, layout_.output_offset(chunk) + in_chunk};
    case Spot::saved:
      return {Region::saved, layout_.output_offset(chunk) + in_chunk};
    case Spot::scratch_a:
    case Spot::scratch_b: {
      const std::size_t which = spot == Spot::scratch_b;
      if (!is_sliced(slot)) return {Region::scratch, scratch_offset_[s][which]};
      return {Region::pool,
              units_[static_cast<std::size_t>(unit_of(slot, slice))].block[which] * block_bytes_};
    }
    case Spot::none:
      break;
  }
  throw InternalError("bug in hemiola: a place was asked for a slot's value that is nowhere");
}

int SlotMemory::writable_index(Spot spot) const {
  if (spot == Spot::output || (spot == Spot::input && in_place_)) return 0;
  if (spot == Spot::scratch_a) return 1;
  return spot == Spot::scratch_b ? 2 : kNone;
}

void SlotMemory::enter(const SlotAccess& access, std::int32_t slice, std::int64_t key,
                       std::vector<TaskIndex>* waits) {
  if (!is_sliced(access.slot)) return;
  Unit& unit = units_[static_cast<std::size_t>(unit_of(access.slot, slice))];
  for (std::size_t which = 0; which < 2; ++which) {
    if (!access.touches(kScratchSpots[which]) || unit.block[which] != kNone) continue;
    const BlockPool::Claim claim = pool_.claim(key);
    unit.block[which] = claim.block;
    waits->insert(waits->end(), claim.former_users.begin(), claim.former_users.end());
  }
}

void SlotMemory::wait_to_read(std::int32_t unit, std::vector<TaskIndex>* waits) const {
  const TaskIndex writer = units_[static_cast<std::size_t>(unit)].last_write;
  if (writer != kNone) waits->push_back(writer);
}

void SlotMemory::append_readers(std::int32_t unit, int writable, std::vector<TaskIndex>* waits) const {
  for (std::int32_t r =
           units_[static_cast<std::size_t>(unit)].first_reader[static_cast<std::size_t>(writable)];
       r != kNone; r = readers_[static_cast<std::size_t>(r)].next)
    waits->push_back(readers_[static_cast<std::size_t>(r)].task);
}

void SlotMemory::wait_to_write(std::int32_t unit, Spot spot, std::vector<TaskIndex>* waits) {
  const int writable = writable_index(spot);
  append_readers(unit, writable, waits);
  // The next writer waits for this one, and so for these readers.
  units_[static_cast<std::size_t>(unit)].first_reader[static_cast<std::size_t>(writable)] = kNone;
  wait_to_read(unit, waits);
}

void SlotMemory::note_read(std::int32_t unit, Spot spot, TaskIndex reader) {
  const int writable = writable_index(spot);
  if (writable == kNone) return;
  std::int32_t& first =
      units_[static_cast<std::size_t>(unit)].first_reader[static_cast<std::size_t>(writable)];
  readers_.push_back({reader, first});
  first = static_cast<std::int32_t>(readers_.size()) - 1;
}

void SlotMemory::leave(const SlotAccess& access, std::int32_t slice, std::int64_t key) {
  if (!is_sliced(access.slot)) return;
  const std::int32_t index = unit_of(access.slot, slice);
  Unit& unit = units_[static_cast<std::size_t>(index)];
  for (std::size_t which = 0; which < 2; ++which) {
    if (!access.touches(kScratchSpots[which]) || --unit.uses_left[which] > 0) continue;
    std::vector<TaskIndex> users;
    append_readers(index, writable_index(kScratchSpots[which]), &users);
    wait_to_read(index, &users);
    pool_.release(unit.block[which], key, std::move(users));
  }
}

}  // namespace hemiola
