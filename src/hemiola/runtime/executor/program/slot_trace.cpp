// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/executor/program/slot_trace.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

/// The accesses of one step to one slot: [begin, end) of its events.
struct StepRun {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool reads = false;
  bool writes = false;
  Spot written_to = Spot::none;
};

class SlotTracer {
 public:
  SlotTracer(const Collective& collective, const RankPart& part, const SlotOptions& options)
      : collective_(collective), part_(part), options_(options) {}

  SlotTrace trace() {
    number_slots();
    for (std::size_t s = 0; s < trace_.slots.size(); ++s)
      trace_slot(&trace_.slots[s],
                 std::span(events_).subspan(first_event_[s], first_event_[s + 1] - first_event_[s]));
    return std::move(trace_);
  }

 private:
  void number_slots();
  void trace_slot(Slot* slot, std::span<const std::int32_t> events);
  void split_runs(std::span<const std::int32_t> events);
  void choose_spots(const Slot& slot);
  void read_run(const StepRun& run, std::span<const std::int32_t> events, bool from_saved, Spot current);
  Spot write_run(const StepRun& run, std::span<const std::int32_t> events, Spot current);

  /// An event is a transfer's access to a slot: number t of transfer t, and of one within the rank, whose other access is
  /// the write, ~t for the read.
  static std::int32_t read_by(std::size_t inner_transfer) {
    return ~static_cast<std::int32_t>(inner_transfer);
  }
  bool is_inner_read(std::int32_t event) const { return event < 0; }
  const Transfer& transfer(std::int32_t event) const {
    return part_.transfers[static_cast<std::size_t>(is_inner_read(event) ? ~event : event)];
  }
  SlotAccess& access(std::int32_t event) {
    if (!is_inner_read(event)) return trace_.accesses[static_cast<std::size_t>(event)];
    return trace_
        .inner_reads[static_cast<std::size_t>(trace_.inner_read_of[static_cast<std::size_t>(~event)])];
  }
  bool reads(std::int32_t event) const {
    return is_inner_read(event) || (transfer(event).src == part_.rank && transfer(event).dst != part_.rank);
  }
  bool is_inner(const Transfer& t) const { return t.src == part_.rank && t.dst == part_.rank; }
  void note_inner_transfers();
  std::size_t place_of(std::int32_t scratch, Chunk chunk) const {
    return static_cast<std::size_t>(scratch) * static_cast<std::size_t>(collective_.chunk_count()) +
           static_cast<std::size_t>(chunk);
  }
  [[noreturn]] void reject(const Transfer& t, const std::string& why) const;

  const Collective& collective_;
  const RankPart& part_;
  const SlotOptions options_;
  SlotTrace trace_;
  std::vector<std::int32_t> events_;  ///< grouped by slot, in order of the transfers
  std::vector<std::size_t> first_event_;
  std::vector<StepRun> runs_;  ///< of the slot at hand
};

void SlotTracer::reject(const Transfer& t, const std::string& why) const {
  throw ArgumentError("schedule, step " + std::to_string(t.step) + ": rank " + std::to_string(t.src) +
                      " to rank " + std::to_string(t.dst) + ", chunk " + std::to_string(t.chunk) + ": " +
                      why + ". hemiola.verify() lists all errors of this schedule.");
}

void SlotTracer::note_inner_transfers() {
  for (std::size_t i = 0; i < part_.transfers.size(); ++i) {
    if (!is_inner(part_.transfers[i])) continue;
    trace_.inner_read_of.resize(part_.transfers.size(), -1);
    trace_.inner_read_of[i] = static_cast<std::int32_t>(trace_.inner_reads.size());
    trace_.inner_reads.emplace_back();
  }
}

void SlotTracer::number_slots() {
  note_inner_transfers();
  const std::size_t count = part_.transfers.size();
  std::int32_t scratch_count = 0;
  for (const Transfer& t : part_.transfers) scratch_count = std::max({scratch_count, t.src_slot, t.dst_slot});
  std::vector<std::int32_t> slot_at(place_of(scratch_count + 1, Chunk{0}), -1);
  // Calls visit(event, place of its slot).
  const auto for_each_event = [&](auto visit) {
    for (std::size_t i = 0; i < count; ++i) {
      const Transfer& t = part_.transfers[i];
      const bool sends = t.src == part_.rank && !is_inner(t);
      if (is_inner(t)) visit(read_by(i), place_of(t.src_slot, t.chunk));
      visit(static_cast<std::int32_t>(i), place_of(sends ? t.src_slot : t.dst_slot, t.chunk));
    }
  };
  for_each_event([&](std::int32_t, std::size_t place) { slot_at[place] = 0; });
  for (std::int32_t scratch = 0; scratch <= scratch_count; ++scratch)
    for (Chunk chunk : indices<Chunk>(collective_.chunk_count())) {
      std::int32_t& slot = slot_at[place_of(scratch, chunk)];
      if (slot < 0) continue;
      slot = static_cast<std::int32_t>(trace_.slots.size());
      trace_.slots.push_back({chunk, scratch, scratch == 0 && collective_.wanted_after(part_.rank, chunk)});
    }
  trace_.accesses.resize(count);
  first_event_.assign(trace_.slots.size() + 1, 0);
  for_each_event([&](std::int32_t event, std::size_t place) {
    access(event).slot = slot_at[place];
    ++first_event_[static_cast<std::size_t>(slot_at[place]) + 1];
  });
  for (std::size_t s = 1; s < first_event_.size(); ++s) first_event_[s] += first_event_[s - 1];
  events_.resize(first_event_.back());
  std::vector<std::size_t> next(first_event_.begin(), first_event_.end() - 1);
  for_each_event([&](std::int32_t event, std::size_t place) {
    events_[next[static_cast<std::size_t>(slot_at[place])]++] = event;
  });
}

void SlotTracer::split_runs(std::span<const std::int32_t> events) {
  runs_.clear();
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (runs_.empty() || transfer(events[i]).step != transfer(events[runs_.back().begin]).step)
      runs_.push_back({i, i});
    runs_.back().end = i + 1;
    (reads(events[i]) ? runs_.back().reads : runs_.back().writes) = true;
  }
}

/// Backwards from the last write, which belongs where the user looks: a value that is still read in the step that
/// writes the next one must lie elsewhere than the next one.
void SlotTracer::choose_spots(const Slot& slot) {
  Spot spot = slot.wanted ? Spot::output : Spot::scratch_a;
  const Spot other = slot.wanted ? Spot::scratch_a : Spot::scratch_b;
  const Spot home = spot;
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
    if (!run->writes) continue;
    run->written_to = spot;
    if (run->reads) spot = spot == home ? other : home;
  }
}

void SlotTracer::read_run(const StepRun& run, std::span<const std::int32_t> events, bool from_saved,
                          Spot current) {
  for (std::size_t i = run.begin; i < run.end; ++i) {
    if (!reads(events[i])) continue;
    if (current == Spot::none) reject(transfer(events[i]), "the slot is sent before it holds a value");
    access(events[i]).at = from_saved ? Spot::saved : current;
    access(events[i]).saves = from_saved;
  }
}

Spot SlotTracer::write_run(const StepRun& run, std::span<const std::int32_t> events, Spot current) {
  const Transfer* first = nullptr;
  for (std::size_t i = run.begin; i < run.end; ++i) {
    if (reads(events[i])) continue;
    const Transfer& t = transfer(events[i]);
    if (first != nullptr && !(first->reduce && t.reduce))
      reject(t, "in one step a slot takes one copy or any number of reductions");
    if (t.reduce && current == Spot::none) reject(t, "the slot is added into before it holds a value");
    access(events[i]).at = run.written_to;
    access(events[i]).operand = t.reduce ? current : Spot::none;
    access(events[i]).concurrent = first != nullptr;
    first = &t;
    current = run.written_to;
  }
  return current;
}

void SlotTracer::trace_slot(Slot* slot, std::span<const std::int32_t> events) {
  split_runs(events);
  choose_spots(*slot);
  const bool defined = slot->scratch == 0 && collective_.defined_before(part_.rank, slot->chunk);
  const bool is_input_in_place = options_.in_place && defined && slot->wanted;
  Spot current = defined ? Spot::input : Spot::none;
  bool saved = !is_input_in_place;
  for (const StepRun& run : runs_) {
    const bool overwrites_input = run.writes && run.written_to == Spot::output && !saved;
    const bool clash = overwrites_input && run.reads && current == Spot::input;
    if (run.reads) read_run(run, events, clash, current);
    if (!run.writes) continue;
    current = write_run(run, events, current);
    slot->written = true;
    if (!overwrites_input) continue;
    saved = true;
    for (std::size_t i = run.begin; i < run.end && (options_.keep_inputs || clash); ++i)
      if (!reads(events[i])) access(events[i]).saves = true;
  }
  for (std::int32_t event : events) {
    slot->uses_a += access(event).touches(Spot::scratch_a);
    slot->uses_b += access(event).touches(Spot::scratch_b);
  }
}

}  // namespace

SlotTrace trace_slots(const Collective& collective, const RankPart& part, const SlotOptions& options) {
  return SlotTracer(collective, part, options).trace();
}

}  // namespace hemiola
