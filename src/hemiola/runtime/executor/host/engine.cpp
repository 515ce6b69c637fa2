// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/executor/host/engine.hpp"

#include <time.h>

#include <algorithm>
#include <optional>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/base/rounding.hpp"

namespace hemiola {
namespace {

/// On buffers so small in all, ranks wait for a message's latency, and polling for it is worth the core.
constexpr std::size_t kPolledBytes = 64 << 10;

constexpr std::int32_t kNone = -1;
/// A buffer up to this size is still in a cache when it comes to be written again.
constexpr std::int64_t kCachedBytes = 8 << 20;
/// Of a coded program, since tasks further ahead in a direct exchange collide at its receivers.
constexpr int kCodedGroups = 2;

std::int64_t thread_ns() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

/// A core's work on messages, charged to a clock that stands still meanwhile.
template <typename Work>
auto Engine::charged(const Work& work) {
  struct Charge {
    EmulatedClock* clock;
    std::int64_t begin_ns = clock != nullptr ? thread_ns() : 0;
    ~Charge() {
      if (clock != nullptr) clock->charge(thread_ns() - begin_ns);
    }
  };
  const Charge charge{wire_->clock()};
  return work();
}

void Engine::begin_operation() {
  program_ = nullptr;
  program_count_ = 0;
  has_replaced_ = false;
  kept_.clear();
  coder_.choose_formats_by({});
}

void Engine::execute(const Program& program, const Buffers& buffers, const Arithmetic& arithmetic,
                     Supervisor* supervisor) {
  if (buffers.device)
    throw ArgumentError("the buffers are in the memory of device " + std::to_string(*buffers.device) +
                        ", and this communicator works in the host's; copy them there first");
  begin(program, buffers, arithmetic);
  const bool has_remains = wire_->traits().has_remains;
  if (has_remains) wire_->progress();  // rests of earlier operations must not count as news of this one
  if (program.exchange && options_.meter == nullptr) {
    exchange(*program.exchange, supervisor);
  } else {
    begin_tasks();
    drive(supervisor);
  }
  if (has_remains) wire_->progress();  // nothing more follows, which a wire may be waiting to know
  while (copy_one()) {
  }
}

void Engine::begin(const Program& program, const Buffers& buffers, const Arithmetic& arithmetic) {
  if (program_ != nullptr) keep_saves();
  program_ = &program;
  ++program_count_;
  if (arithmetic.dtype != dtype_ || arithmetic.op != op_) find_kernels(arithmetic.dtype, arithmetic.op);
  divisor_ = arithmetic.divisor;
  groups_in_flight_ =
      program.forms.empty() ? options_.groups_in_flight : std::min(options_.groups_in_flight, kCodedGroups);
  place_regions(buffers, arithmetic);
  is_saved_.resize(program.saves.size());
  for (std::size_t i = 0; i < program.saves.size(); ++i)
    is_saved_[i] = !program.saves[i].is_sent && is_kept(program.saves[i]);
  copies_done_ = 0;
  receives_ = std::ranges::any_of(program.channels, [](const Channel& channel) { return !channel.sending; });
  if (program.moves_input) {
    copier_.copy(regions_[Region::saved], buffers.input,
                 static_cast<std::size_t>(program.bytes[static_cast<int>(Region::input)]));
    regions_[Region::input] = regions_[Region::saved];
  }
  if (!program.forms.empty()) coder_.begin(program, regions_, arithmetic, combine_, buffers.rounding);
  for (const Copy& copy : program.copies_before)
    copier_.copy(at(copy.to), at(copy.from), static_cast<std::size_t>(copy.bytes));
}

void Engine::find_kernels(DType dtype, Op op) {
  dtype_ = dtype;
  op_ = op;
  combine_ = combine_for(dtype, op);
  scale_ = scale_for(dtype);
}

/// Sets up the account of a program's tasks: the open dependencies of each, and the tasks that may start.
void Engine::begin_tasks() {
  const Program& program = *program_;
  needs_.resize(program.tasks.size());
  for (std::size_t i = 0; i < program.tasks.size(); ++i) needs_[i] = program.tasks[i].needs;
  requests_.resize(program.tasks.size());
  is_posted_.assign(program.tasks.size(), 0);
  head_.assign(program.channels.size(), kNone);
  active_channels_.clear();
  ready_.clear();
  next_ready_ = 0;
  tasks_left_ = program.tasks.size();
  not_admitted_.clear();
  for (std::size_t c = 0; c < program.channels.size(); ++c)
    if (!program.channels[c].sending) not_admitted_.push_back(static_cast<std::int32_t>(c));
  reset_lanes();
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) open_groups(lane);
  for (std::size_t i = 0; i < program.tasks.size(); ++i)
    if (program.tasks[i].needs == 0) ready_.push_back(static_cast<std::int32_t>(i));
}

/// The first save is of the operation's input; later programs save the results of earlier ones.
void Engine::keep_saves() {
  std::vector<KeptSave> news;
  for (std::size_t i = 0; i < is_saved_.size(); ++i)
    if (is_saved_[i] && !is_kept(program_->saves[i]))
      news.push_back({program_->saves[i], at({Region::saved, program_->saves[i].offset})});
  kept_.insert(kept_.end(), news.begin(), news.end());
  std::sort(kept_.begin(), kept_.end(),
            [](const KeptSave& a, const KeptSave& b) { return a.range.offset < b.range.offset; });
}

bool Engine::is_kept(const Save& save) const {
  const auto at =
      std::lower_bound(kept_.begin(), kept_.end(), save.offset,
                       [](const KeptSave& kept, std::int64_t offset) { return kept.range.offset < offset; });
  return at != kept_.end() && at->range.offset == save.offset;
}

void Engine::place_regions(const Buffers& buffers, const Arithmetic& arithmetic) {
  const auto whole_lines = [](std::size_t size) { return rounded_up<std::size_t>(size, 64); };
  const bool multiplies = arithmetic.op == Op::premul_sum || arithmetic.op == Op::average;
  std::byte* work = work_.get(whole_lines(bytes(Region::scratch)) + whole_lines(bytes(Region::pool)) +
                              whole_lines(bytes(Region::staging)) + bytes(Region::coded));
  // The engine writes to the input's region only where it is the output, too.
  regions_[Region::input] = const_cast<std::byte*>(buffers.input);
  regions_[Region::output] = buffers.output;
  HEMIOLA_CHECK(program_->in_blocks == buffers.in_blocks(), "a program for buffers of another kind");
  const auto blocks = [](const BlockMemory& of) {
    return of ? std::span<std::byte* const>(*of) : std::span<std::byte* const>();
  };
  regions_.set_blocks(Region::input, blocks(buffers.input_blocks), program_->input_begins);
  regions_.set_blocks(Region::output, blocks(buffers.output_blocks), program_->output_begins);
  if (multiplies) multiply_input(arithmetic);
  regions_[Region::scratch] = work;
  regions_[Region::pool] = work += whole_lines(bytes(Region::scratch));
  regions_[Region::staging] = work += whole_lines(bytes(Region::pool));
  regions_[Region::coded] = work + whole_lines(bytes(Region::staging));
  while (saved_.size() < program_count_) saved_.emplace_back();
  regions_[Region::saved] = saved_[program_count_ - 1].get(bytes(Region::saved));
}

/// Programs read the product, which the first of an operation makes; the input stays as it is, unless the result goes there. A
/// program in place, of an average, has the product there, too.
void Engine::multiply_input(const Arithmetic& arithmetic) {
  std::byte*& input = regions_[Region::input];
  std::byte* const output = regions_[Region::output];
  std::byte* const to = program_->in_place ? input : product_.get(bytes(Region::input));
  if (program_count_ == 1) {
    const bool in_place = input < output + bytes(Region::output) && output < input + bytes(Region::input);
    if (in_place && options_.keep_inputs) {
      copier_.copy(replaced_.get(bytes(Region::output)), output, bytes(Region::output));
      has_replaced_ = true;
    }
    multiply_blocks(arithmetic, to);
  }
  if (program_->in_place) return;
  regions_.set_blocks(Region::input, {}, {});
  input = to;
}

void Engine::multiply_blocks(const Arithmetic& arithmetic, std::byte* to) {
  const double factor =
      arithmetic.op == Op::average ? average_factor(arithmetic.dtype, arithmetic.divisor) : arithmetic.factor;
  const auto multiply = multiply_for(arithmetic.dtype);
  const std::span<std::byte* const> blocks = regions_.blocks(Region::input);
  if (blocks.empty()) return multiply(to, regions_[Region::input], bytes(Region::input), factor);
  const std::vector<std::int64_t>& begins = program_->input_begins;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    multiply(to + begins[i], blocks[i], static_cast<std::size_t>(begins[i + 1] - begins[i]), factor);
}

void Engine::reset_lanes() {
  lanes_.assign(program_->lanes.size(), {});
  left_in_group_.clear();
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    lanes_[i].first_left = left_in_group_.size();
    const auto& begins = program_->lanes[i].group_begin;
    for (std::size_t g = 0; g + 1 < begins.size(); ++g) left_in_group_.push_back(begins[g + 1] - begins[g]);
  }
}

Patience Engine::patience() {
  const std::size_t moved = bytes(Region::input) + bytes(Region::output);
  return {options_.waiting, &waiting_records_.of(moved), moved <= kPolledBytes};
}

/// As `drive`, for one message at most in each direction.
void Engine::exchange(const Exchange& messages, Supervisor* supervisor) {
  struct Message {
    const Task* task;  ///< null: there is none
    bool is_posted = false;
    bool is_done = task == nullptr;
    Request request = {};
  };
  const auto message = [&](std::int32_t index) { return Message{index == kNone ? nullptr : &task(index)}; };
  Message out = message(messages.send), in = message(messages.receive);
  const auto post = [&](Message* of) {
    save(*of->task);
    of->request = of == &out ? send(*of->task) : receive(*of->task);
    of->is_posted = true;
  };
  const auto ends = [&](Message* of) {
    return of->is_posted && !of->is_done && (of->is_done = wire_->done(of->request));
  };
  bool is_admitted = false;
  std::optional<Patience> patience;  // most exchanges that come again never wait
  while (true) {
    if (!out.is_posted && !out.is_done && (in.is_done || messages.order != Exchange::Order::receive_first))
      post(&out);
    if (!in.is_posted && is_admitted && (out.is_done || messages.order != Exchange::Order::send_first))
      post(&in);
    if (out.is_done && in.is_done) return;
    bool news = wire_->progress();
    news |= ends(&out);
    news |= ends(&in);
    if (!is_admitted && !in.is_done) news |= is_admitted = supervisor->admits(peer_of(*in.task));
    if (news || copy_one()) {
      if (patience) patience->renew();
    } else {
      if (!patience) patience.emplace(this->patience());
      patience->wait(wire_, supervisor);
    }
  }
}

void Engine::drive(Supervisor* supervisor) {
  Patience patience = this->patience();
  while (true) {
    start_ready();
    if (tasks_left_ == 0) return;
    bool news = wire_->progress();
    news |= poll();
    news |= admit(supervisor);  // last: this rank's message has left by now
    if (news || next_ready_ < ready_.size() || copy_one())
      patience.renew();
    else
      patience.wait(wire_, supervisor);
  }
}

/// Lets in the peers that have arrived since we last looked.
bool Engine::admit(Supervisor* supervisor) {
  bool news = false;
  for (std::size_t i = 0; i < not_admitted_.size();) {
    const Channel& channel = program_->channels[static_cast<std::size_t>(not_admitted_[i])];
    if (!supervisor->admits(channel.peer)) {
      ++i;
      continue;
    }
    release(channel.first_task);
    not_admitted_[i] = not_admitted_.back();
    not_admitted_.pop_back();
    news = true;
  }
  return news;
}

/// Messages of a channel are seen to finish in order; looking only at the oldest keeps this short.
bool Engine::poll() {
  bool news = false;
  for (std::size_t i = 0; i < active_channels_.size();) {
    const auto channel = static_cast<std::size_t>(active_channels_[i]);
    std::int32_t head = head_[channel];
    while (head != kNone && is_posted_[static_cast<std::size_t>(head)] &&
           wire_->done(requests_[static_cast<std::size_t>(head)])) {
      news = true;
      finish(head);
      head = task(head).next_in_channel;
    }
    if (head == kNone || !is_posted_[static_cast<std::size_t>(head)]) {
      head_[channel] = kNone;
      active_channels_[i] = active_channels_.back();
      active_channels_.pop_back();
    } else {
      head_[channel] = head;
      ++i;
    }
  }
  return news;
}

void Engine::start_ready() {
  while (next_ready_ < ready_.size()) start(ready_[next_ready_++]);
  ready_.clear();
  next_ready_ = 0;
}

void Engine::start(std::int32_t index) {
  const Task& o = task(index);
  save(o);
  switch (o.kind) {
    case TaskKind::send:
      return post(index, send(o));
    case TaskKind::receive:
      return post(index, receive(o));
    case TaskKind::apply:
      apply(o);
      return finish(index);
    case TaskKind::scale:
      scale(o);
      return finish(index);
    case TaskKind::send_coded:
      return post(index, send_coded(o));
    case TaskKind::receive_coded:
      return post(index, receive_coded(o));
    case TaskKind::apply_coded:
      charged([&] { coder_.apply(o, peer_of(task(index - 1))); });
      return finish(index);
  }
}

Request Engine::send(const Task& o) {
  const Piece* piece = &program_->pieces[static_cast<std::size_t>(o.first_piece)];
  const Rank peer = peer_of(o);
  if (!o.staged)
    return wire_->send(peer, at(piece->at), static_cast<std::size_t>(o.bytes), source_of(piece->at));
  std::byte* const staging = at({o.staging_region, o.staging});
  std::byte* to = staging;
  for (std::int32_t i = 0; i < o.piece_count; ++i, ++piece) {
    copier_.copy(to, at(piece->at), static_cast<std::size_t>(piece->bytes));
    to += piece->bytes;
  }
  return wire_->send(peer, staging, static_cast<std::size_t>(o.bytes));
}

/// A rank that only sends rewrites nothing.
Source Engine::source_of(const Place& place) const {
  if (!receives_) return program_->channels.size() == 1 ? Source::idle : Source::settled;
  const bool in_place = regions_[Region::input] == regions_[Region::output];
  const bool users = place.region == Region::input || place.region == Region::output;
  return in_place && users && program_->bytes[static_cast<int>(Region::output)] <= kCachedBytes
             ? Source::working
             : Source::settled;
}

Request Engine::receive(const Task& o) {
  const Rank peer = peer_of(o);
  Landing landing;
  if (o.staged) {
    landing.dst = at({o.staging_region, o.staging});
  } else {
    const Piece& piece = program_->pieces[static_cast<std::size_t>(o.first_piece)];
    landing.dst = at(piece.at);
    if (piece.combine) {
      landing.operand = at(piece.operand);
      landing.combine = combine_;
    }
  }
  return wire_->receive(peer, landing, static_cast<std::size_t>(o.bytes));
}

Request Engine::send_coded(const Task& o) {
  const Coder::Message message = charged([&] { return coder_.message(o, peer_of(o)); });
  const Place& first = program_->pieces[static_cast<std::size_t>(o.first_piece)].at;
  return wire_->send(peer_of(o), message.data, message.bytes,
                     message.is_plain ? source_of(first) : Source::settled);
}

Request Engine::receive_coded(const Task& o) {
  const Coder::Reception reception = coder_.reception(o);
  return wire_->receive(peer_of(o), reception.landing, reception.capacity);
}

void Engine::apply(const Task& o) {
  const std::byte* from = at({o.staging_region, o.staging});
  const Piece* piece = &program_->pieces[static_cast<std::size_t>(o.first_piece)];
  for (std::int32_t i = 0; i < o.piece_count; ++i, ++piece) {
    const auto bytes = static_cast<std::size_t>(piece->bytes);
    if (piece->combine)
      bulk_combine(combine_, at(piece->at), at(piece->operand), from, bytes);
    else
      copier_.copy(at(piece->at), from, bytes);
    from += bytes;
  }
}

void Engine::scale(const Task& o) {
  const Piece& piece = program_->pieces[static_cast<std::size_t>(o.first_piece)];
  scale_(at(piece.at), static_cast<std::size_t>(piece.bytes), divisor_);
}

/// Notes that a message is under way, which lets the next one of its channel and perhaps its port's next group start.
void Engine::post(std::int32_t index, Request request) {
  const Task& o = task(index);
  requests_[static_cast<std::size_t>(index)] = request;
  is_posted_[static_cast<std::size_t>(index)] = 1;
  std::int32_t& head = head_[static_cast<std::size_t>(o.channel)];
  if (head == kNone) {
    head = index;
    active_channels_.push_back(o.channel);
  }
  if (o.next_in_channel != kNone) release(o.next_in_channel);
  ++lanes_[static_cast<std::size_t>(o.lane)].posted;
  if (options_.meter != nullptr) options_.meter->posted(metered(o), wire_->now_ns());
  open_groups(static_cast<std::size_t>(o.lane));
}

void Engine::finish(std::int32_t index) {
  const Task& o = task(index);
  --tasks_left_;
  for (std::int32_t i = 0; i < o.successor_count; ++i)
    release(program_->successors[static_cast<std::size_t>(o.first_successor + i)]);
  if (o.lane == kNone) return;
  if (options_.meter != nullptr) options_.meter->finished(metered(o), wire_->now_ns());
  LaneState& lane = lanes_[static_cast<std::size_t>(o.lane)];
  const std::int32_t* const left = left_in_group_.data() + lane.first_left;
  --left_in_group_[lane.first_left + static_cast<std::size_t>(o.group)];
  while (lane.finished < lane.opened && left[lane.finished] == 0) ++lane.finished;
  open_groups(static_cast<std::size_t>(o.lane));
}

void Engine::open_groups(std::size_t index) {
  LaneState& state = lanes_[index];
  const Lane& lane = program_->lanes[index];
  const auto groups = static_cast<std::int32_t>(lane.group_begin.size()) - 1;
  while (state.opened < groups && state.posted == lane.group_begin[static_cast<std::size_t>(state.opened)] &&
         state.opened - state.finished < groups_in_flight_) {
    const auto begin = static_cast<std::size_t>(lane.group_begin[static_cast<std::size_t>(state.opened)]);
    const auto end = static_cast<std::size_t>(lane.group_begin[static_cast<std::size_t>(state.opened) + 1]);
    ++state.opened;
    for (std::size_t i = begin; i < end; ++i) release(lane.tasks[i]);
  }
}

/// Keeps elements that are about to be overwritten in place, while the combining needs it in cache anyway.
void Engine::save(const Task& o) {
  for (std::int32_t i = 0; i < o.save_count; ++i) {
    const auto index =
        static_cast<std::size_t>(program_->save_lists[static_cast<std::size_t>(o.first_save + i)]);
    if (is_saved_[index]) continue;
    is_saved_[index] = 1;
    const Save& s = program_->saves[index];
    copier_.copy(at({Region::saved, s.offset}), at({Region::output, s.offset}),
                 static_cast<std::size_t>(s.bytes));
  }
}

bool Engine::copy_one() {
  if (copies_done_ == program_->copies_after.size()) return false;
  const Copy& copy = program_->copies_after[copies_done_++];
  copier_.copy(at(copy.to), at(copy.from), static_cast<std::size_t>(copy.bytes));
  return true;
}

void Engine::restore() {
  if (program_ == nullptr) return;
  if (program_->coding == Coding::eight_bits) coder_.restore_rest();
  keep_saves();
  for (const KeptSave& kept : kept_)
    copier_.copy(at({Region::output, kept.range.offset}), kept.copy,
                 static_cast<std::size_t>(kept.range.bytes));
  is_saved_.clear();
  if (has_replaced_)
    copier_.copy(regions_[Region::output], replaced_.get(0),
                 static_cast<std::size_t>(program_->bytes[static_cast<int>(Region::output)]));
  if (program_->moves_input)
    copier_.copy(regions_[Region::output], regions_[Region::saved],
                 static_cast<std::size_t>(program_->bytes[static_cast<int>(Region::output)]));
  begin_operation();
}

}  // namespace hemiola
