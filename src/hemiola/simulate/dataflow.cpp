#include "hemiola/simulate/dataflow.hpp"

#include "hemiola/simulate/slot_numbers.hpp"

namespace hemiola::simulation {

Dataflow::Dataflow(const Scenario& scenario)
    : messages_(static_cast<std::size_t>(scenario.transfer_count())), waiting_(messages_.size()) {
  assign_slots(scenario.schedule());
  string_accesses(scenario);
}

void Dataflow::assign_slots(const Schedule& schedule) {
  SlotNumbers numbers(schedule);
  for (std::size_t t = 0; t < messages_.size(); ++t) {
    const RankPair pair = schedule.pair_of(static_cast<std::int64_t>(t));
    const Chunk chunk = schedule.chunk_of(static_cast<std::int64_t>(t));
    messages_[t].src_slot = numbers.of(pair.src, chunk);
    messages_[t].dst_slot = numbers.of(pair.dst, chunk);
  }
  slots_.resize(numbers.count());
}

/// Walks the steps in order, in each first the reads, then the writes, and strings the accesses of each slot
/// together.
void Dataflow::string_accesses(const Scenario& scenario) {
  constexpr TransferId kAhead =
      16;  // transfers; slots are touched in no order, so their lines are asked for early
  struct Last {
    TransferId read = kNoTransfer, write = kNoTransfer;
    std::uint32_t reads = 0;
  };
  LargeVector<Last> last(slots_.size());
  const auto steps = scenario.schedule().step_offset();
  for (std::size_t s = 0; s + 1 < steps.size(); ++s) {
    const auto begin = static_cast<TransferId>(steps[s]), end = static_cast<TransferId>(steps[s + 1]);
    for (TransferId t = begin; t < end; ++t) {
      if (t + kAhead < end) __builtin_prefetch(&last[messages_[t + kAhead].src_slot]);
      if (!scenario.is_sent(t)) continue;
      ++message_count_;
      Message& m = messages_[t];
      Last& before = last[m.src_slot];
      ++before.reads;
      m.last_write = before.write;
      if (m.last_write == kNoTransfer) continue;
      (before.read == kNoTransfer ? slots_[m.src_slot].next_read : messages_[before.read].next_read) = t;
      before.read = t;
    }
    for (TransferId t = begin; t < end; ++t) {
      if (t + kAhead < end) __builtin_prefetch(&last[messages_[t + kAhead].dst_slot]);
      if (!scenario.is_sent(t)) continue;
      Message& m = messages_[t];
      Last& before = last[m.dst_slot];
      m.reads_before = before.reads;
      (before.write == kNoTransfer ? slots_[m.dst_slot].next_write : messages_[before.write].next_write) = t;
      before.write = t;
    }
  }
}

}  // namespace hemiola::simulation
