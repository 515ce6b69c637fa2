// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/executor/program/instructions.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

#include "hemiola/base/rounding.hpp"
#include "hemiola/runtime/executor/program/compile.hpp"

namespace hemiola {
namespace {

/// A device's loads and stores are at their best from here on.
constexpr std::int64_t kAlignment = 256;
constexpr std::int64_t kUnbounded = std::int64_t{1} << 60;

/// Neighbours of any size travel together; others do not, since a group's messages start together anyway.
constexpr MessageRules kRules{.slice_bytes = kUnbounded, .join_bytes = kUnbounded, .pack_bytes = 0};

/// A transfer within the rank takes apart what lies in a slot, and no message that has come.
bool is_inner(const Task& task) {
  return task.kind == TaskKind::apply && task.staged;
}
bool begins_message(const Task& task) {
  return task.kind == TaskKind::send || task.kind == TaskKind::receive || is_inner(task);
}

/// Takes a program step by step. A step's messages lie in the same staging memory as those of any other: the queue is
/// over with them by then.
class Lister {
 public:
  Lister(const Program& program, const std::vector<Message>& messages)
      : program_(program), is_saved_(program.saves.size()) {
    std::copy(std::begin(program.bytes), std::end(program.bytes), std::begin(list_.bytes));
    std::size_t message = 0;
    for (const Task& task : program.tasks)
      if (begins_message(task)) turns_.push_back({messages[message++].step, &task});
    list_.bytes[static_cast<int>(Region::staging)] = 0;
  }

  InstructionList list() {
    begin();
    for (std::size_t first = 0; first < turns_.size();) {
      std::size_t end = first;
      while (end < turns_.size() && turns_[end].step == turns_[first].step) ++end;
      add_step(std::span(turns_).subspan(first, end - first));
      first = end;
    }
    copy(program_.copies_after);
    for (const Task& task : program_.tasks)
      if (task.kind == TaskKind::scale)
        for (const Piece& piece : pieces_of(task))
          add({.kind = InstructionKind::scale, .to = piece.at, .bytes = piece.bytes});
    return std::move(list_);
  }

 private:
  struct Turn {
    Step step;
    const Task* task;
  };

  /// The moves that come before other reads from there.
  Place read_at(Place place) const {
    if (program_.moves_input && place.region == Region::input) place.region = Region::saved;
    return place;
  }

  /// A receive writes its own pieces, or those of the task that takes it apart, which stands behind it.
  std::span<const Piece> pieces_of(const Task& task) const {
    const Task& holder = task.kind == TaskKind::receive && task.staged ? *(&task + 1) : task;
    return std::span(program_.pieces)
        .subspan(static_cast<std::size_t>(holder.first_piece), static_cast<std::size_t>(holder.piece_count));
  }

  void add(const Instruction& instruction) { list_.instructions.push_back(instruction); }

  void copy(const std::vector<Copy>& copies) {
    for (const Copy& each : copies)
      add({.kind = InstructionKind::copy, .from = read_at(each.from), .to = each.to, .bytes = each.bytes});
  }

  void begin() {
    const std::int64_t input = program_.bytes[static_cast<int>(Region::input)];
    if (program_.moves_input && input > 0)
      add({.kind = InstructionKind::copy,
           .from = {Region::input, 0},
           .to = {Region::saved, 0},
           .bytes = input});
    copy(program_.copies_before);
  }

  void save(const Task& task) {
    const Task& holder = task.kind == TaskKind::receive && task.staged ? *(&task + 1) : task;
    for (std::int32_t i = holder.first_save; i < holder.first_save + holder.save_count; ++i) {
      const auto index = static_cast<std::size_t>(program_.save_lists[static_cast<std::size_t>(i)]);
      if (is_saved_[index]) continue;
      is_saved_[index] = true;
      const Save& each = program_.saves[index];
      add({.kind = InstructionKind::copy,
           .from = {Region::output, each.offset},
           .to = {Region::saved, each.offset},
           .bytes = each.bytes});
    }
  }

  Place staging_for(const Task& task) {
    const Place place{Region::staging, staged_};
    staged_ += rounded_up(task.bytes, kAlignment);
    std::int64_t& room = list_.bytes[static_cast<int>(Region::staging)];
    room = std::max(room, staged_);
    return place;
  }

  void add_step(std::span<const Turn> turns) {
    staged_ = 0;
    std::vector<Instruction> group;
    std::vector<Instruction> afterwards;
    for (const Turn& turn : turns) save(*turn.task);
    for (const Turn& turn : turns)
      if (turn.task->kind == TaskKind::send)
        add_send(turn, &group);
      else if (is_inner(*turn.task))
        take_apart(*turn.task, read_at({turn.task->staging_region, turn.task->staging}), &afterwards);
      else
        add_receive(turn, &group, &afterwards);
    list_.instructions.insert(list_.instructions.end(), group.begin(), group.end());
    list_.instructions.insert(list_.instructions.end(), afterwards.begin(), afterwards.end());
  }

  void add_send(const Turn& turn, std::vector<Instruction>* group) {
    const Task& task = *turn.task;
    const auto pieces = pieces_of(task);
    Place from = read_at(pieces.front().at);
    if (pieces.size() > 1) {
      from = staging_for(task);
      Place to = from;
      for (const Piece& piece : pieces) {
        add({.kind = InstructionKind::copy, .from = read_at(piece.at), .to = to, .bytes = piece.bytes});
        to.offset += piece.bytes;
      }
    }
    group->push_back({.kind = InstructionKind::send,
                      .step = turn.step,
                      .peer = peer_of(task),
                      .from = from,
                      .bytes = task.bytes});
  }

  void add_receive(const Turn& turn, std::vector<Instruction>* group, std::vector<Instruction>* afterwards) {
    const Task& task = *turn.task;
    const auto pieces = pieces_of(task);
    const bool lands = pieces.size() == 1 && !pieces.front().combine;
    const Place landing = lands ? pieces.front().at : staging_for(task);
    group->push_back({.kind = InstructionKind::receive,
                      .step = turn.step,
                      .peer = peer_of(task),
                      .to = landing,
                      .bytes = task.bytes});
    if (!lands) take_apart(task, landing, afterwards);
  }

  void take_apart(const Task& task, Place from, std::vector<Instruction>* afterwards) {
    for (const Piece& piece : pieces_of(task)) {
      afterwards->push_back({.kind = piece.combine ? InstructionKind::combine : InstructionKind::copy,
                             .from = from,
                             .operand = piece.combine ? read_at(piece.operand) : Place{},
                             .to = piece.at,
                             .bytes = piece.bytes});
      from.offset += piece.bytes;
    }
  }

  Rank peer_of(const Task& task) const {
    return program_.channels[static_cast<std::size_t>(task.channel)].peer;
  }

  const Program& program_;
  std::vector<Turn> turns_;
  std::vector<bool> is_saved_;
  std::int64_t staged_ = 0;
  InstructionList list_;
};

}  // namespace

InstructionList instructions_of(const Schedule& schedule, Rank rank, const InstructionOptions& options) {
  const RankPart part = part_of(schedule, rank);
  CompileOptions as_compiled;
  as_compiled.block_elements = options.block_elements;
  as_compiled.element_bytes = options.element_bytes;
  as_compiled.rules = kRules;
  as_compiled.in_place = options.in_place;
  as_compiled.keep_inputs = false;
  as_compiled.average = options.average;
  const Program program = compile(schedule.collective(), schedule.chunk_weights(), part, as_compiled);
  const BufferLayout layout(schedule.collective(), schedule.chunk_weights(), options.block_elements,
                            options.element_bytes);
  return Lister(program, plan_messages(part, layout, kRules)).list();
}

}  // namespace hemiola
