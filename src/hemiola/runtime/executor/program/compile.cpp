// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/executor/program/compile.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/rounding.hpp"
#include "hemiola/runtime/executor/program/coded_forms.hpp"
#include "hemiola/runtime/executor/program/exchange.hpp"
#include "hemiola/runtime/executor/program/slot_memory.hpp"
#include "hemiola/runtime/executor/program/slot_trace.hpp"

namespace hemiola {
namespace {

/// A coded message counts elements by 32 bits.
constexpr std::int64_t kMostCodedBytes = std::int64_t{1} << 30;

/// Joining coded values copies them.
constexpr std::int64_t kMostJoinedBytes = 64 << 10;

/// A message, or one slice of it, and its turn: slice s of step t comes with slice s-1 of step t+1, so that a slice
/// that has just arrived is passed on while it is in cache.
struct Turn {
  std::int64_t key;
  std::int32_t message;
  std::int32_t slice;
};

/// By key; in a key older slices first. Counting sort: the messages come by step, which is their order where none
/// is cut.
std::vector<Turn> order_turns(const std::vector<Message>& messages) {
  if (std::all_of(messages.begin(), messages.end(), [](const Message& m) { return m.slice_count == 1; })) {
    std::vector<Turn> turns(messages.size());
    for (std::size_t i = 0; i < messages.size(); ++i)
      turns[i] = {messages[i].step, static_cast<std::int32_t>(i), 0};
    return turns;
  }
  std::int64_t keys = 0;
  for (const Message& m : messages) keys = std::max<std::int64_t>(keys, m.step + std::int64_t{m.slice_count});
  std::vector<std::size_t> next(static_cast<std::size_t>(keys) + 1);
  for (const Message& m : messages)
    for (std::int32_t s = 0; s < m.slice_count; ++s) ++next[static_cast<std::size_t>(m.step + s) + 1];
  for (std::size_t k = 1; k < next.size(); ++k) next[k] += next[k - 1];
  std::vector<Turn> turns(next.back());
  for (std::size_t end = messages.size(); end > 0;) {
    std::size_t begin = end - 1;
    while (begin > 0 && messages[begin - 1].step == messages[end - 1].step) --begin;
    for (std::size_t i = begin; i < end; ++i)
      for (std::int32_t s = 0; s < messages[i].slice_count; ++s) {
        const std::int64_t key = messages[i].step + std::int64_t{s};
        turns[next[static_cast<std::size_t>(key)]++] = {key, static_cast<std::int32_t>(i), s};
      }
    end = begin;
  }
  return turns;
}

/// Calls visit(Chunk) for every chunk the rank wants, without looking at all chunks of an all-to-all.
template <typename Visit>
void for_each_wanted(const Collective& collective, Rank rank, Visit visit) {
  if (collective.kind() != CollectiveKind::all_to_all) {
    for (Chunk chunk : indices<Chunk>(collective.chunk_count()))
      if (collective.wanted_after(rank, chunk)) visit(chunk);
    return;
  }
  const int ranks = collective.rank_count();
  const int pieces = collective.chunk_count() / (ranks * ranks);
  for (Rank src : indices<Rank>(ranks))
    for (int piece = 0; piece < pieces; ++piece) visit(Chunk{(src * ranks + rank) * pieces + piece});
}

MessageRules rules_of(const CompileOptions& options) {
  MessageRules rules = options.rules;
  if (options.coding == Coding::none) return rules;
  rules.slice_bytes = std::min(rules.slice_bytes, kMostCodedBytes);
  rules.join_bytes = std::min(rules.join_bytes, kMostJoinedBytes);
  return rules;
}

/// Whether no rank passes on received data, or adds to them.
bool brings_to_rest(const Schedule& schedule) {
  const Collective& collective = schedule.collective();
  for (std::int64_t i = 0; i < schedule.transfer_count(); ++i)
    if (schedule.reduces(i) || !collective.defined_before(schedule.pair_of(i).src, schedule.chunk_of(i)))
      return false;
  return true;
}

class Compiler {
 public:
  Compiler(const Collective& collective, std::span<const std::int64_t> weights, const RankPart& part,
           const CompileOptions& options)
      : collective_(collective),
        part_(part),
        options_(options),
        layout_(collective, weights, options.block_elements, options.element_bytes, options.block_sizes),
        in_place_(options.in_place && collective.kind() != CollectiveKind::all_to_all),
        trace_(trace_slots(collective, part, {in_place_, options.keep_inputs && !options.average})),
        messages_(plan_messages(part, layout_, rules_of(options))),
        memory_(trace_, layout_, rules_of(options).slice_bytes, in_place_),
        channel_of_(2 * static_cast<std::size_t>(collective.rank_count()), -1),
        save_of_(trace_.slots.size(), -1) {
    program_.coding = options.coding;
    program_.in_blocks = options.in_blocks;
    program_.in_place = in_place_;
    program_.input_begins = layout_.input_begins(part.rank);
    program_.output_begins = layout_.output_begins(part.rank);
    if (options.coding == Coding::none) return;
    const bool has_scratch = std::any_of(trace_.slots.begin(), trace_.slots.end(),
                                         [](const Slot& slot) { return slot.scratch > 0; });
    if (has_scratch)
      throw ArgumentError(
          "schedule: a sparse collective runs no schedule with scratch slots; pass another, or sparse=False");
    forms_.emplace(part, trace_, memory_, options.coding);
  }

  Program compile() {
    program_.moves_input = options_.in_place && !in_place_;
    plan_copies();
    make_lanes();
    const std::vector<Turn> turns = order_turns(messages_);
    reserve(turns.size());
    for (const Turn& turn : turns) {
      const Message& m = message(turn);
      m.peer == part_.rank ? add_inner(turn) : m.sending ? add_send(turn) : add_receive(turn);
    }
    if (options_.average) add_scaling();
    link_successors();
    close_lanes();
    size_regions();
    program_.exchange = exchange_of(program_);
    return std::move(program_);
  }

 private:
  void plan_copies();
  void copy_early();
  void add_copy(Chunk chunk, std::vector<Copy>* copies);
  void make_lanes();
  void reserve(std::size_t turn_count);
  void begin_message();
  void add_send(const Turn& turn);
  void add_receive(const Turn& turn);
  void add_inner(const Turn& turn);
  void add_scaling();
  void link_successors();
  void close_lanes();
  void size_regions();

  TaskIndex add_task(TaskKind kind, std::int64_t bytes);
  TaskIndex add_message_task(TaskKind kind, const Turn& turn);
  void enlist(TaskIndex task, const Message& message, std::int64_t key);
  void name_transfers(TaskIndex task, const Message& message);
  void add_piece(const SlotAccess& access, const Turn& turn);
  void take_pieces(TaskIndex task);
  void take_saves(TaskIndex task);
  void stage(TaskIndex task, const Turn& turn);
  void stage_coded(TaskIndex task);
  void leave_forms(TaskIndex user, const Turn& turn);
  void save(const SlotAccess& access, std::int32_t slice);
  void wait_for(TaskIndex task, const std::vector<TaskIndex>& others);

  /// Whether other memory of the user's begins there.
  bool begins_block(const Place& place) const {
    const auto begins_in = [&](const std::vector<std::int64_t>& begins) {
      return std::binary_search(begins.begin(), begins.end(), place.offset);
    };
    if (place.region == Region::input && options_.in_blocks.input) return begins_in(program_.input_begins);
    return place.region == Region::output && options_.in_blocks.output && begins_in(program_.output_begins);
  }
  const Message& message(const Turn& turn) const { return messages_[static_cast<std::size_t>(turn.message)]; }
  Task& task(TaskIndex index) { return program_.tasks[static_cast<std::size_t>(index)]; }
  /// Calls visit(SlotAccess, unit) for each transfer of a message that has bytes.
  template <typename Visit>
  void for_each_access(const Turn& turn, Visit visit) {
    const Message& m = message(turn);
    for (std::int32_t i = m.first_transfer; i < m.first_transfer + m.transfer_count; ++i) {
      const SlotAccess& access = trace_.accesses[static_cast<std::size_t>(i)];
      if (memory_.bytes_of(access.slot, turn.slice) > 0)
        visit(access, memory_.unit_of(access.slot, turn.slice));
    }
  }

  const Collective& collective_;
  const RankPart& part_;
  const CompileOptions& options_;
  const BufferLayout layout_;
  const bool in_place_;
  SlotTrace trace_;
  const std::vector<Message> messages_;
  SlotMemory memory_;
  std::optional<CodedForms> forms_;  ///< of a coded program
  Program program_;
  std::vector<std::int32_t> channel_of_;  ///< by peer, first sending, then receiving
  std::vector<TaskIndex> last_in_channel_;
  std::vector<std::int32_t> save_of_;      ///< by slot: its first slice's entry in program_.saves
  std::vector<std::int64_t> key_of_lane_;  ///< of its latest message
  std::vector<std::pair<TaskIndex, TaskIndex>> edges_;
  // Of the message at hand:
  std::vector<Piece> pieces_;
  std::vector<std::int32_t> saves_;
  std::vector<TaskIndex> waits_;
  std::vector<TaskIndex> form_waits_;
};

TaskIndex Compiler::add_task(TaskKind kind, std::int64_t bytes) {
  program_.tasks.push_back({.kind = kind, .bytes = bytes});
  return static_cast<TaskIndex>(program_.tasks.size()) - 1;
}

void Compiler::wait_for(TaskIndex index, const std::vector<TaskIndex>& others) {
  for (TaskIndex other : others) edges_.emplace_back(other, index);
  task(index).needs += static_cast<std::int32_t>(others.size());
}

/// Puts a message at the end of its channel and its lane. Messages come by key; those of one key are a group.
void Compiler::enlist(TaskIndex index, const Message& m, std::int64_t key) {
  const std::size_t ranks = channel_of_.size() / 2;
  const auto peer = static_cast<std::size_t>(m.peer);
  std::int32_t& channel = channel_of_[m.sending ? peer : ranks + peer];
  Task& o = task(index);
  if (channel < 0) {
    channel = static_cast<std::int32_t>(program_.channels.size());
    program_.channels.push_back({m.peer, m.sending, index});
    last_in_channel_.push_back(index);
    o.needs += m.sending ? 0 : 1;  // the peer's arrival
  } else {
    TaskIndex& last = last_in_channel_[static_cast<std::size_t>(channel)];
    task(last).next_in_channel = index;
    last = index;
    o.needs += 1;  // the message before this one
  }
  const auto& ports = m.sending ? options_.ports.sending : options_.ports.receiving;
  const int port = ports.empty() ? 0 : ports[peer];
  o.channel = channel;
  o.lane = 2 * port + (m.sending ? 0 : 1);
  o.needs += 1;  // its port's turn
  Lane& lane = program_.lanes[static_cast<std::size_t>(o.lane)];
  if (std::exchange(key_of_lane_[static_cast<std::size_t>(o.lane)], key) != key)
    lane.group_begin.push_back(static_cast<std::int32_t>(lane.tasks.size()));
  o.group = static_cast<std::int32_t>(lane.group_begin.size()) - 1;
  lane.tasks.push_back(index);
}

void Compiler::name_transfers(TaskIndex index, const Message& m) {
  const Transfer& first = part_.transfers[static_cast<std::size_t>(m.first_transfer)];
  program_.carried_transfers.resize(static_cast<std::size_t>(index) + 1);
  program_.carried_transfers.back() = {static_cast<std::int32_t>(m.step),
                                       static_cast<std::int32_t>(first.chunk), m.transfer_count, m.reduce};
}

/// Joins the access's bytes to the piece before if they continue it.
void Compiler::add_piece(const SlotAccess& access, const Turn& turn) {
  Piece piece{.at = memory_.place(access.at, access.slot, turn.slice),
              .bytes = memory_.bytes_of(access.slot, turn.slice),
              .combine = access.operand != Spot::none};
  if (piece.combine) piece.operand = memory_.place(access.operand, access.slot, turn.slice);
  if (forms_) {
    const auto transfer = static_cast<std::size_t>(&access - trace_.accesses.data());
    piece.form = forms_->form_of(transfer, turn.slice);
    forms_->enter(piece.form, turn.key, &form_waits_);
    pieces_.push_back(piece);
    return;
  }
  const auto continues = [this](const Place& a, const Place& b, std::int64_t bytes) {
    return a.region == b.region && a.offset + bytes == b.offset && !begins_block(b);
  };
  if (!pieces_.empty()) {
    Piece& last = pieces_.back();
    if (last.combine == piece.combine && continues(last.at, piece.at, last.bytes) &&
        (!piece.combine || continues(last.operand, piece.operand, last.bytes))) {
      last.bytes += piece.bytes;
      return;
    }
  }
  pieces_.push_back(piece);
}

void Compiler::take_pieces(TaskIndex index) {
  task(index).first_piece = static_cast<std::int32_t>(program_.pieces.size());
  task(index).piece_count = static_cast<std::int32_t>(pieces_.size());
  program_.pieces.insert(program_.pieces.end(), pieces_.begin(), pieces_.end());
}

void Compiler::save(const SlotAccess& access, std::int32_t slice) {
  const auto slot = static_cast<std::size_t>(access.slot);
  if (save_of_[slot] < 0) {
    save_of_[slot] = static_cast<std::int32_t>(program_.saves.size());
    for (std::int32_t s = 0; s < memory_.slicing(access.slot).count; ++s)
      program_.saves.push_back(
          {memory_.place(Spot::output, access.slot, s).offset, memory_.bytes_of(access.slot, s)});
  }
  const std::int32_t index = save_of_[slot] + slice;
  if (access.at == Spot::saved) program_.saves[static_cast<std::size_t>(index)].is_sent = true;
  saves_.push_back(index);
}

void Compiler::take_saves(TaskIndex index) {
  task(index).first_save = static_cast<std::int32_t>(program_.save_lists.size());
  task(index).save_count = static_cast<std::int32_t>(saves_.size());
  program_.save_lists.insert(program_.save_lists.end(), saves_.begin(), saves_.end());
}

TaskIndex Compiler::add_message_task(TaskKind kind, const Turn& turn) {
  std::int64_t bytes = 0;
  for (const Piece& piece : pieces_) bytes += piece.bytes;
  const TaskIndex index = add_task(kind, bytes);
  enlist(index, message(turn), turn.key);
  if (options_.names_transfers) name_transfers(index, message(turn));
  return index;
}

/// Gives a message a place where its bytes lie side by side; a slice's is a block, so that it is used again.
void Compiler::stage(TaskIndex index, const Turn& turn) {
  task(index).staged = true;
  if (message(turn).slice_count == 1) {
    task(index).staging = program_.bytes[static_cast<int>(Region::staging)];
    program_.bytes[static_cast<int>(Region::staging)] += rounded_up(task(index).bytes, kCacheLine);
    return;
  }
  BlockPool::Claim claim = memory_.pool().claim(turn.key);
  wait_for(index, claim.former_users);
  task(index).staging_region = Region::pool;
  task(index).staging = claim.block * memory_.block_bytes();
  const TaskIndex apply = index + 1;
  memory_.pool().release(claim.block, turn.key, {apply});
}

/// A coded message lies in its form's memory; one of several pieces is their forms, each beginning at a multiple of 8.
void Compiler::stage_coded(TaskIndex index) {
  if (pieces_.size() == 1) return;
  std::size_t bytes = 0;
  for (const Piece& piece : pieces_) bytes += joined_capacity(piece.bytes);
  task(index).staged = true;
  task(index).staging = program_.bytes[static_cast<int>(Region::staging)];
  program_.bytes[static_cast<int>(Region::staging)] +=
      rounded_up(static_cast<std::int64_t>(bytes), kCacheLine);
}

void Compiler::leave_forms(TaskIndex user, const Turn& turn) {
  for (const Piece& piece : pieces_) forms_->leave(piece.form, user, turn.key);
}

void Compiler::begin_message() {
  pieces_.clear();
  saves_.clear();
  waits_.clear();
  form_waits_.clear();
}

void Compiler::add_send(const Turn& turn) {
  begin_message();
  for_each_access(turn, [&](const SlotAccess& access, std::int32_t unit) {
    memory_.wait_to_read(unit, &waits_);
    add_piece(access, turn);
    if (access.saves) save(access, turn.slice);
  });
  const TaskIndex index = add_message_task(forms_ ? TaskKind::send_coded : TaskKind::send, turn);
  wait_for(index, waits_);
  take_pieces(index);
  take_saves(index);
  if (forms_) {
    wait_for(index, form_waits_);
    stage_coded(index);
    leave_forms(index, turn);
  } else if (pieces_.size() > 1) {
    stage(index, turn);
  }
  for_each_access(turn, [&](const SlotAccess& access, std::int32_t unit) {
    memory_.note_read(unit, access.at, index);
    memory_.leave(access, turn.slice, turn.key);
  });
}

void Compiler::add_receive(const Turn& turn) {
  begin_message();
  bool staged = forms_.has_value();
  for_each_access(turn, [&](const SlotAccess& access, std::int32_t unit) {
    memory_.enter(access, turn.slice, turn.key, &waits_);
    memory_.wait_to_write(unit, access.at, &waits_);
    add_piece(access, turn);
    if (access.saves) save(access, turn.slice);
    staged |= options_.land_at_once && access.concurrent;
  });
  staged |= pieces_.size() > 1;
  const TaskIndex receive = add_message_task(forms_ ? TaskKind::receive_coded : TaskKind::receive, turn);
  TaskIndex writer = receive;
  if (staged) {
    writer = add_task(forms_ ? TaskKind::apply_coded : TaskKind::apply, task(receive).bytes);
    forms_ ? stage_coded(receive) : stage(receive, turn);
    task(writer).staging_region = task(receive).staging_region;
    task(writer).staging = task(receive).staging;
    wait_for(writer, {receive});
  }
  wait_for(writer, waits_);
  take_pieces(writer);
  take_saves(writer);
  if (forms_) {
    wait_for(receive, form_waits_);
    task(receive).first_piece = task(writer).first_piece;
    task(receive).piece_count = task(writer).piece_count;
    leave_forms(writer, turn);
  }
  for_each_access(turn, [&](const SlotAccess& access, std::int32_t unit) {
    memory_.note_write(unit, writer);
    memory_.leave(access, turn.slice, turn.key);
  });
}

/// A transfer within the rank is the end of a message that has come already: it lies in the slot that is read.
void Compiler::add_inner(const Turn& turn) {
  begin_message();
  const auto transfer = static_cast<std::size_t>(message(turn).first_transfer);
  const SlotAccess& to = trace_.accesses[transfer];
  const SlotAccess& from = trace_.inner_reads[static_cast<std::size_t>(trace_.inner_read_of[transfer])];
  const std::int32_t to_unit = memory_.unit_of(to.slot, turn.slice);
  const std::int32_t from_unit = memory_.unit_of(from.slot, turn.slice);
  memory_.enter(to, turn.slice, turn.key, &waits_);
  memory_.wait_to_read(from_unit, &waits_);
  memory_.wait_to_write(to_unit, to.at, &waits_);
  add_piece(to, turn);
  if (from.saves) save(from, turn.slice);
  if (to.saves) save(to, turn.slice);
  const TaskIndex index = add_task(TaskKind::apply, memory_.bytes_of(to.slot, turn.slice));
  const Place source = memory_.place(from.at, from.slot, turn.slice);
  task(index).staged = true;
  task(index).staging_region = source.region;
  task(index).staging = source.offset;
  wait_for(index, waits_);
  take_pieces(index);
  take_saves(index);
  memory_.note_read(from_unit, from.at, index);
  memory_.leave(from, turn.slice, turn.key);
  memory_.note_write(to_unit, index);
  memory_.leave(to, turn.slice, turn.key);
}

/// One task per result, once it is written and sent for the last time.
void Compiler::add_scaling() {
  for (std::size_t s = 0; s < trace_.slots.size(); ++s) {
    if (!trace_.slots[s].wanted || !trace_.slots[s].written) continue;
    const auto slot = static_cast<std::int32_t>(s);
    for (std::int32_t slice = 0; slice < memory_.slicing(slot).count; ++slice) {
      const std::int64_t bytes = memory_.bytes_of(slot, slice);
      if (bytes == 0) continue;
      waits_.clear();
      memory_.wait_to_write(memory_.unit_of(slot, slice), Spot::output, &waits_);
      const TaskIndex index = add_task(TaskKind::scale, bytes);
      wait_for(index, waits_);
      pieces_.assign(1, {.at = memory_.place(Spot::output, slot, slice), .bytes = bytes});
      take_pieces(index);
    }
  }
}

void Compiler::add_copy(Chunk chunk, std::vector<Copy>* copies) {
  const std::int64_t bytes = layout_.bytes_of(chunk);
  if (bytes == 0) return;
  const Copy copy{
      {Region::input, layout_.input_offset(chunk)}, {Region::output, layout_.output_offset(chunk)}, bytes};
  if (!copies->empty()) {
    Copy& last = copies->back();
    const bool continues =
        last.from.offset + last.bytes == copy.from.offset && last.to.offset + last.bytes == copy.to.offset;
    if (continues && !begins_block(copy.from) && !begins_block(copy.to)) {
      last.bytes += bytes;
      return;
    }
  }
  copies->push_back(copy);
}

/// A value that the user wants where it never arrives, because the rank has it from the start, is copied. Before
/// all else where that lets it travel in one piece with its neighbours, otherwise at the end.
void Compiler::plan_copies() {
  if (!in_place_) copy_early();
  std::vector<bool> arrives(static_cast<std::size_t>(collective_.chunk_count()));
  std::vector<bool> copied(static_cast<std::size_t>(collective_.chunk_count()));
  for (std::size_t i = 0; i < trace_.accesses.size(); ++i) {
    const Slot& slot = trace_.slots[static_cast<std::size_t>(trace_.accesses[i].slot)];
    if (slot.scratch > 0) continue;
    arrives[static_cast<std::size_t>(slot.chunk)] = slot.written;
    if (!slot.written && trace_.accesses[i].at == Spot::output)
      copied[static_cast<std::size_t>(slot.chunk)] = true;
  }
  for_each_wanted(collective_, part_.rank, [&](Chunk chunk) {
    if (arrives[static_cast<std::size_t>(chunk)]) return;
    if (!collective_.defined_before(part_.rank, chunk))
      throw ArgumentError("schedule: rank " + std::to_string(part_.rank) + " wants chunk " +
                          std::to_string(chunk) + ", which no transfer brings; see hemiola.verify()");
    if (in_place_) return;
    add_copy(chunk,
             copied[static_cast<std::size_t>(chunk)] ? &program_.copies_before : &program_.copies_after);
  });
}

void Compiler::copy_early() {
  std::vector<bool> early(trace_.slots.size());
  for (const Message& m : messages_) {
    if (!m.sending || m.transfer_count == 1) continue;
    for (std::int32_t i = m.first_transfer; i < m.first_transfer + m.transfer_count; ++i) {
      const auto slot = static_cast<std::size_t>(trace_.accesses[static_cast<std::size_t>(i)].slot);
      if (trace_.slots[slot].wanted && !trace_.slots[slot].written) early[slot] = true;
    }
  }
  for (SlotAccess& access : trace_.accesses)
    if (early[static_cast<std::size_t>(access.slot)]) access.at = Spot::output;
}

void Compiler::make_lanes() {
  int ports = 1;
  for (const auto* map : {&options_.ports.sending, &options_.ports.receiving})
    for (int port : *map) ports = std::max(ports, port + 1);
  program_.lanes.resize(2 * static_cast<std::size_t>(ports));
  key_of_lane_.assign(program_.lanes.size(), -1);
}

/// Growing these columns by and by takes longer than filling them.
void Compiler::reserve(std::size_t turn_count) {
  program_.tasks.reserve(turn_count);
  program_.pieces.reserve(turn_count);
  edges_.reserve(turn_count);
  for (Lane& lane : program_.lanes) lane.tasks.reserve(turn_count / program_.lanes.size());
  memory_.reserve(turn_count);
}

void Compiler::close_lanes() {
  for (Lane& lane : program_.lanes) lane.group_begin.push_back(static_cast<std::int32_t>(lane.tasks.size()));
}

void Compiler::link_successors() {
  for (const auto& [from, to] : edges_) ++task(from).successor_count;
  std::int32_t first = 0;
  for (Task& o : program_.tasks) {
    o.first_successor = first;
    first += std::exchange(o.successor_count, 0);
  }
  program_.successors.resize(edges_.size());
  for (const auto& [from, to] : edges_)
    program_.successors[static_cast<std::size_t>(task(from).first_successor + task(from).successor_count++)] =
        to;
}

void Compiler::size_regions() {
  const bool uses_saved = program_.moves_input || !program_.saves.empty();
  std::int64_t* const bytes = program_.bytes;
  bytes[static_cast<int>(Region::input)] = program_.input_begins.back();
  bytes[static_cast<int>(Region::output)] = program_.output_begins.back();
  bytes[static_cast<int>(Region::scratch)] = memory_.scratch_bytes();
  bytes[static_cast<int>(Region::pool)] = memory_.pool().block_count() * memory_.block_bytes();
  bytes[static_cast<int>(Region::saved)] = uses_saved ? bytes[static_cast<int>(Region::output)] : 0;
  if (forms_) {
    bytes[static_cast<int>(Region::coded)] = forms_->region_bytes();
    program_.forms = forms_->take();
  }
}

}  // namespace

Program compile(const Collective& collective, std::span<const std::int64_t> chunk_weights,
                const RankPart& part, const CompileOptions& options) {
  return Compiler(collective, chunk_weights, part, options).compile();
}

Program compile(const Schedule& schedule, Rank rank, const CompileOptions& options) {
  const MessageRules& rules = options.rules;
  CompileOptions chosen = options;
  if (rules.resting_bytes > rules.slice_bytes && brings_to_rest(schedule))
    chosen.rules.slice_bytes = rules.resting_bytes;
  return compile(schedule.collective(), schedule.chunk_weights(), part_of(schedule, rank), chosen);
}

}  // namespace hemiola
