#include "hemiola/simulate/dataflow.hpp"

#include <bit>

namespace hemiola::simulation {
namespace {

/// Numbers the slots that a schedule touches: by position where most are touched, else in order of first use.
class SlotNumbers {
 public:
  explicit SlotNumbers(const Schedule& schedule)
      : chunk_count_(static_cast<std::uint64_t>(schedule.chunk_count())),
        count_(chunk_count_ * static_cast<std::uint64_t>(schedule.rank_count())) {
    const auto touched = 2 * static_cast<std::uint64_t>(schedule.transfer_count());
    if (count_ <= 4 * touched && count_ < kNoTransfer) return;
    table_.assign(std::bit_ceil(2 * touched + 1), Entry{});
    count_ = 0;
  }

  std::uint32_t of(Rank rank, Chunk chunk) {
    const std::uint64_t place =
        static_cast<std::uint64_t>(rank) * chunk_count_ + static_cast<std::uint64_t>(chunk);
    return table_.empty() ? static_cast<std::uint32_t>(place) : find_or_add(place);
  }
  std::size_t count() const { return count_; }

 private:
  struct Entry {
    std::uint64_t place = 0;
    std::uint32_t number = kNoTransfer;
  };

  std::uint32_t find_or_add(std::uint64_t place) {
    std::size_t at = (place * 0x9e3779b97f4a7c15ull >> 20) & (table_.size() - 1);
    while (table_[at].number != kNoTransfer && table_[at].place != place) at = (at + 1) & (table_.size() - 1);
    if (table_[at].number == kNoTransfer) table_[at] = {place, static_cast<std::uint32_t>(count_++)};
    return table_[at].number;
  }

  std::uint64_t chunk_count_;
  std::uint64_t count_;
  std::vector<Entry> table_;
};

}  // namespace

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
