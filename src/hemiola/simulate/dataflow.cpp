// SPDX-License-Identifier: Apache-2.0
#include "hemiola/simulate/dataflow.hpp"

#include "hemiola/base/heedful.hpp"
#include "hemiola/simulate/slot_numbers.hpp"

namespace hemiola::simulation {
namespace {

/// Transfers: slots are touched in no order, so their lines are asked for so early.
constexpr TransferId kAhead = 16;

}  // namespace

Dataflow::Dataflow(const Scenario& scenario) {
  heedful_resize(&messages_, scenario.transfer_count());
  waiting_.resize(messages_.size());
  assign_slots(scenario.schedule());
  string_accesses(scenario);
}

void Dataflow::assign_slots(const Schedule& schedule) {
  SlotNumbers numbers(schedule);
  const std::int64_t count = schedule.transfer_count();
  for_heedful_blocks(count, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      if (t + kAhead < count) {
        const RankPair later = schedule.pair_of(t + kAhead);
        numbers.prefetch(later.src, later.src_slot, schedule.chunk_of(t + kAhead));
        numbers.prefetch(later.dst, later.dst_slot, schedule.chunk_of(t + kAhead));
      }
      const RankPair pair = schedule.pair_of(t);
      const Chunk chunk = schedule.chunk_of(t);
      messages_[static_cast<std::size_t>(t)].src_slot = numbers.of(pair.src, pair.src_slot, chunk);
      messages_[static_cast<std::size_t>(t)].dst_slot = numbers.of(pair.dst, pair.dst_slot, chunk);
    }
  });
  heedful_resize(&slots_, numbers.count());
}

/// Walks the steps in order, in each first the reads, then the writes, and strings the accesses of each slot
/// together.
void Dataflow::string_accesses(const Scenario& scenario) {
  struct Last {
    TransferId write = kNoTransfer;
    TransferId read = kNoTransfer;  ///< since that write
    std::uint32_t reads = 0;
  };
  LargeVector<Last> last;
  heedful_resize(&last, slots_.size());
  const auto read = [&](TransferId t) {
    ++message_count_;
    Message& m = messages_[t];
    Last& before = last[m.src_slot];
    ++before.reads;
    if (before.write == kNoTransfer) return;
    m.reads_at_once = 0;
    (before.read == kNoTransfer ? messages_[before.write].first_reader : messages_[before.read].next_reader) =
        t;
    before.read = t;
  };
  const auto write = [&](TransferId t) {
    Message& m = messages_[t];
    Last& before = last[m.dst_slot];
    m.reads_before = before.reads;
    (before.write == kNoTransfer ? slots_[m.dst_slot].next_write : messages_[before.write].next_write) = t;
    before.write = t;
    before.read = kNoTransfer;
  };
  const auto steps = scenario.schedule().step_offset();
  for (std::size_t s = 0; s + 1 < steps.size(); ++s) {
    const auto step_begin = static_cast<TransferId>(steps[s]),
               step_end = static_cast<TransferId>(steps[s + 1]);
    for_heedful_blocks(step_begin, step_end, [&](TransferId begin, TransferId end) {
      for (TransferId t = begin; t < end; ++t) {
        if (t + kAhead < end) __builtin_prefetch(&last[messages_[t + kAhead].src_slot]);
        if (scenario.is_sent(t)) read(t);
      }
    });
    for_heedful_blocks(step_begin, step_end, [&](TransferId begin, TransferId end) {
      for (TransferId t = begin; t < end; ++t) {
        if (t + kAhead < end) __builtin_prefetch(&last[messages_[t + kAhead].dst_slot]);
        if (scenario.is_sent(t)) write(t);
      }
    });
  }
}

}  // namespace hemiola::simulation
