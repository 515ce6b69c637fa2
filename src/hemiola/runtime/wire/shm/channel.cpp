// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/shm/channel.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "hemiola/base/bulk_copy.hpp"
#include "hemiola/runtime/session/lost_member.hpp"
#include "hemiola/runtime/wire/message_fate.hpp"

namespace hemiola {
namespace {

// As headers of Linux 5.14 and later define them; older kernels refuse them, and pages come as they are touched.
constexpr int kPopulateRead = 22;
constexpr int kPopulateWrite = 23;

}  // namespace

void Ring::settle(Way way, int advice) {
  bool& is_settled = settled_[static_cast<std::size_t>(way)];
  if (is_settled) return;
  is_settled = true;
  ::madvise(home(way), bytes_, advice);
}

void ChannelWriter::look_for_space() {
  const ChannelPosition freed = ChannelPosition::load(control_.freed);
  // The reader has not followed into this epoch: it may still be reading what we would overwrite.
  if (freed.epoch != position_.epoch) return;
  lines_ready_ = ring_.lines() - (position_.line - freed.line);
  freed_ = freed.line;
}

bool ChannelWriter::progress() {
  const bool retired = retire();
  if (queue_.empty()) return retired;
  OutgoingMessage& message = queue_.front();
  return (message.begun ? stream(&message) : begin(&message)) || retired;
}

/// Counts messages as completed whose bytes the reader has fetched.
bool ChannelWriter::retire() {
  if (unread_.empty()) return false;
  look_for_space();
  bool news = false;
  while (!unread_.empty() && has_freed(unread_.front())) {
    unread_.pop();
    ++completed_;
    news = true;
  }
  return news;
}

/// A message needs a line and a place for its size.
bool ChannelWriter::may_begin() {
  if (lines_ready_ == 0 || !has_freed(ends_[size_slot_])) look_for_space();
  return lines_ready_ > 0 && has_freed(ends_[size_slot_]);
}

bool ChannelWriter::begin(OutgoingMessage* message) {
  if (!may_begin()) return false;
  if (said_ != message->tag || said_.hints != message->tag.hints) {
    say_tag(message->tag);
    if (!may_begin()) return position_.store(control_.written), true;
  }
  if (message->notice != nullptr) return begin_posted(message), true;
  if (message->bytes >= kBigBytes) return begin_big(message), true;
  if (message->bytes >= kLeastBypassing) message->way = way_of(*message);
  if (message->bytes > 0) return stream(message);
  // An empty message is an empty line.
  advance(kLineBytes);
  announce(0, position_.line);
  position_.store(control_.written);
  finish_copied();
  return true;
}

/// It becomes visible together with the message that it stands before, where there is room for both.
void ChannelWriter::say_tag(const OperationTag& tag) {
  std::memcpy(place(), &tag, sizeof tag);
  advance(kLineBytes);
  announce(kTagMark, position_.line);
  said_ = tag;
}

/// Which way costs least, both ends' work together, or the time until the reader has the bytes, as far as that is known; fetched
/// only where the reader may.
Way ChannelWriter::way_of(const OutgoingMessage& message) {
  const bool is_big = message.bytes >= kBigBytes;
  const bool may_be_fetched = is_big && message.source != Source::working &&
                              control_.fetching.load(std::memory_order_relaxed) == Fetching::works;
  const ReadingCosts& reading = control_.costs[message.size_class];
  const auto& copying = copying_[message.size_class];
  std::array<float, kWays> costs;
  for (std::size_t way = 0; way < kWays; ++way) {
    const bool is_fetched = way == static_cast<std::size_t>(Way::fetched);
    const float take = reading.take[way].load(std::memory_order_relaxed);
    const float copy = is_fetched ? 0 : copying[way].per_byte();
    if (is_big && message.counts_arrival && !is_fetched)
      costs[way] = reading.arrive[way].load(std::memory_order_relaxed);
    else
      costs[way] = take > 0 && (is_fetched || copy > 0) ? copy + take : 0;
  }
  return static_cast<Way>(choosers_[message.size_class].choose(
      std::span(costs).first(may_be_fetched ? kWays : kWaysThroughRing)));
}

void ChannelWriter::begin_big(OutgoingMessage* message) {
  message->size_class = size_class(message->bytes);
  message->way = way_of(*message);
  const bool is_fetched = message->way == Way::fetched;
  const BigHeader header{message->bytes, is_fetched ? reinterpret_cast<std::uintptr_t>(message->data) : 0,
                         message->way};
  std::memcpy(place(), &header, sizeof header);
  advance(kLineBytes);
  announce(kBigMark, position_.line + (is_fetched ? 0 : lines_of(message->bytes)));
  message->begun = true;
  position_.store(control_.written);
  if (is_fetched) return finish_front(position_.line);
  ring_.settle(message->way, kPopulateWrite);
}

/// The pieces stand on the board; here each has an empty line. The first is visible together with the header, where there is room.
void ChannelWriter::begin_posted(OutgoingMessage* message) {
  const BigHeader header{message->bytes, message->notice->offset, Way::posted};
  std::memcpy(place(), &header, sizeof header);
  advance(kLineBytes);
  const std::size_t pieces = (message->bytes + kPieceBytes - 1) / kPieceBytes;
  announce(kBigMark, position_.line + static_cast<std::uint32_t>(pieces));
  message->begun = true;
  if (!post_piece(message)) position_.store(control_.written);
}

/// Announces a piece, written by the first of the channels that come to it.
bool ChannelWriter::post_piece(OutgoingMessage* message) {
  if (lines_ready_ == 0) look_for_space();
  if (lines_ready_ == 0) return false;
  Notice* const notice = message->notice;
  const std::size_t bytes = std::min(message->bytes, kPieceBytes);
  if (notice->written == message->posted) board_->write(notice, message->data, bytes);
  advance(kLineBytes);
  position_.store(control_.written);
  message->posted += bytes;
  message->data += bytes;
  message->bytes -= bytes;
  if (message->bytes > 0) return true;
  reading_.push({position_.line, notice});
  finish_copied();
  return true;
}

void ChannelWriter::leave_notices() {
  if (!reading_.empty()) look_for_space();
  for (; !reading_.empty() && has_freed(reading_.front().end); reading_.pop())
    --reading_.front().notice->readers;
}

/// Says how large the message is that ends at line `end`; whoever sees it in `written` can read that.
void ChannelWriter::announce(std::uint16_t size, std::uint32_t end) {
  control_.sizes[size_slot_].store(size, std::memory_order_relaxed);
  ends_[size_slot_] = end;
  leave_size_slot();
}

bool ChannelWriter::stream(OutgoingMessage* message) {
  if (message->notice != nullptr) return post_piece(message);
  if (movable(message->bytes) < std::min(message->bytes, kPieceBytes)) look_for_space();
  const std::size_t bytes = movable(message->bytes);
  if (bytes == 0) return false;
  copy(*message, bytes);
  advance(bytes);
  // Only now, beside the word on the same line: the reader, who looks at it all the time, would take the line away.
  if (!message->begun)
    announce(
        static_cast<std::uint16_t>(message->bytes | (message->way == Way::bypassing ? kBypassingMark : 0)),
        position_.line + lines_of(message->bytes - bytes));
  position_.store(control_.written);
  message->begun = true;
  message->data += bytes;
  message->bytes -= bytes;
  if (message->bytes == 0) finish_copied();
  return true;
}

void ChannelWriter::copy(const OutgoingMessage& message, std::size_t bytes) {
  const auto into_ring = message.way == Way::bypassing ? bypassing_copy : plain_copy;
  copying_[message.size_class][static_cast<std::size_t>(message.way)].measure(
      bytes, [&] { into_ring(place(message.way), message.data, bytes); });
}

/// The data may be reused at once; only the order of completion makes it wait for messages that are being fetched.
void ChannelWriter::finish_copied() {
  unread_.empty() ? complete_front() : finish_front(unread_.back());
}

/// The message is written; it is completed when the reader has freed `line`.
void ChannelWriter::finish_front(std::uint32_t line) {
  queue_.pop();
  unread_.push(line);
}

void ChannelWriter::reset(std::uint32_t epoch) {
  unread_.clear();
  reading_.clear();
  freed_ = 0;
  ends_.fill(0);
  said_ = {};
  forget(epoch);
  position_.store(control_.written);
}

void ChannelReader::look_for_data() {
  const ChannelPosition written = ChannelPosition::load(control_.written);
  if (written.epoch == position_.epoch) lines_ready_ = written.line - position_.line;
}

bool ChannelReader::progress() {
  if (queue_.empty()) return false;
  IncomingMessage& message = queue_.front();
  if (!message.begun) return begin(&message);
  if (message.way == Way::posted) return read_board(&message);
  return message.way == Way::fetched ? fetch(&message) : stream(&message);
}

bool ChannelReader::begin(IncomingMessage* message) {
  if (lines_ready_ == 0) look_for_data();
  if (lines_ready_ == 0 || !may_land()) return false;
  const std::uint16_t size = control_.sizes[size_slot_].load(std::memory_order_relaxed);
  const bool is_big = size == kBigMark;
  BigHeader header{static_cast<std::uint64_t>(size & ~kBypassingMark), 0,
                   (size & kBypassingMark) != 0 ? Way::bypassing : Way::cached};
  if (is_big) std::memcpy(&header, place(), sizeof header);
  const bool is_posted = header.way == Way::posted;
  if (is_big && (header.way > Way::posted || header.bytes < (is_posted ? 1 : kBigBytes) ||
                 (is_posted && (header.source > kBoardBytes || header.bytes > kBoardBytes - header.source))))
    throw BadMessageError(writer_, "a line that is no header of a big message");
  check_message_size(writer_, message->landing, message->bytes, header.bytes);
  leave_size_slot();
  if (message->landing.received != nullptr) *message->landing.received = header.bytes;
  message->bytes = message->whole_bytes = header.bytes;
  message->way = header.way;
  message->source = header.source;
  message->begin_ticks = header.bytes >= MoveCost::kLeastBytes && !is_posted ? ticks() : 0;
  payload_bytes_ += header.bytes;
  message->begun = true;
  if (is_big) return begin_big(message);
  if (size > 0) return stream(message);
  free_line();
  complete_front();
  return true;
}

/// Takes the line that says a tag, if there is one, and says whether a message is there that bears this rank's own.
bool ChannelReader::may_land() {
  if (control_.sizes[size_slot_].load(std::memory_order_relaxed) == kTagMark) {
    tag_ = tag_in_line();
    leave_size_slot();
    free_line();
    if (lines_ready_ == 0) look_for_data();
  }
  if (lines_ready_ == 0 || fate_of(tag_, *own_) != Fate::lands) return false;
  own_->hints |= tag_.hints;
  return true;
}

OperationTag ChannelReader::tag_in_line() const {
  OperationTag tag;
  std::memcpy(&tag, place(), sizeof tag);
  return tag;
}

std::optional<OperationTag> ChannelReader::foreign() const {
  const bool is_amid_message = !queue_.empty() && queue_.front().begun;
  const ChannelPosition written = ChannelPosition::load(control_.written);
  if (is_amid_message || written.epoch != position_.epoch || written.line == position_.line)
    return std::nullopt;
  const bool is_tag = control_.sizes[size_slot_].load(std::memory_order_relaxed) == kTagMark;
  const OperationTag tag = is_tag ? tag_in_line() : tag_;
  return foreign_tag(tag, *own_, !queue_.empty());
}

bool ChannelReader::begin_big(IncomingMessage* message) {
  if (message->way == Way::fetched) return fetch(message);  // the line is freed when all is fetched
  free_line();
  if (message->way == Way::posted) return read_board(message), true;
  ring_.settle(message->way, kPopulateRead);
  if (control_.fetching.load(std::memory_order_relaxed) == Fetching::untried)
    control_.fetching.store(memory_.is_readable() ? Fetching::works : Fetching::refused);
  return true;
}

void ChannelReader::free_line() {
  advance(kLineBytes);
  position_.store(control_.freed);
}

bool ChannelReader::stream(IncomingMessage* message) {
  if (movable(message->bytes) < std::min(message->bytes, kPieceBytes)) look_for_data();
  const std::size_t bytes = movable(message->bytes);
  if (bytes == 0) return false;
  const bool is_timed = message->begin_ticks != 0;
  const std::uint64_t begin = is_timed ? ticks() : 0;
  land(message, place(message->way), bytes);
  if (is_timed) message->moved_ticks += ticks() - begin;
  advance(bytes);
  position_.store(control_.freed);
  if (message->bytes == 0) complete(*message);
  return true;
}

bool ChannelReader::read_board(IncomingMessage* message) {
  if (lines_ready_ == 0) look_for_data();
  if (lines_ready_ == 0) return false;
  const std::size_t bytes = std::min(message->bytes, kPieceBytes);
  land(message, board_ + message->source, bytes);
  message->source += bytes;
  free_line();
  if (message->bytes == 0) complete(*message);
  return true;
}

/// What has been fetched counts only if the writer was still in this epoch afterwards: when an operation fails
/// there, its wire is reset before the memory is used for anything else.
bool ChannelReader::fetch(IncomingMessage* message) {
  std::byte* const to = fetched_to(*message);
  const std::size_t wanted = to == message->landing.dst ? kFetchBytes : kCombinedBytes;
  const std::uint64_t begin = ticks();
  if (!fetch_piece(message, to, std::min(message->bytes, wanted))) return false;
  message->moved_ticks += ticks() - begin;
  if (message->bytes > 0) return true;
  free_line();
  complete(*message);
  return true;
}

void ChannelReader::complete(const IncomingMessage& message) {
  if (message.begin_ticks != 0) note_costs(message);
  complete_front();
}

void ChannelReader::note_costs(const IncomingMessage& message) {
  const std::size_t kind = size_class(message.whole_bytes);
  const auto way = static_cast<std::size_t>(message.way);
  const auto note = [&](std::uint64_t taken, MoveCost* cost, std::atomic<float>* said) {
    cost->note(taken, message.whole_bytes);
    said->store(cost->per_byte(), std::memory_order_relaxed);
  };
  note(message.moved_ticks, &costs_[kind].take[way], &control_.costs[kind].take[way]);
  if (message.whole_bytes >= kBigBytes)
    note(ticks() - message.begin_ticks, &costs_[kind].arrive[way], &control_.costs[kind].arrive[way]);
}

/// Where it stays, or the bounce, laid so that the kernel's copy does not stumble.
std::byte* ChannelReader::fetched_to(const IncomingMessage& message) const {
  std::byte* const dst = message.landing.dst;
  if (message.landing.combine == nullptr && !PeerMemory::stumbles(dst, message.source)) return dst;
  return bounce_ + (is_little_further(bounce_, message.source) ? kStoreLine : 0);
}

bool ChannelReader::fetch_piece(IncomingMessage* message, std::byte* to, std::size_t wanted) {
  const std::optional<std::size_t> fetched = memory_.read(to, message->source, wanted);
  if (!fetched)
    throw BadMessageError(
        writer_,
        std::string("a message that cannot be fetched from where it says it is: ") + std::strerror(errno));
  const std::size_t bytes = *fetched;
  if (bytes == 0) has_lost_writer_ = true;
  if (bytes == 0 || !is_current()) return false;
  message->source += bytes;
  land(message, to, bytes);
  return true;
}

void ChannelReader::land(IncomingMessage* message, const std::byte* from, std::size_t bytes) {
  Landing& landing = message->landing;
  if (landing.combine != nullptr) {
    bulk_combine(landing.combine, landing.dst, landing.operand, from, bytes);
    landing.operand += bytes;
  } else if (from != landing.dst) {
    copier_.copy(landing.dst, from, bytes, message->whole_bytes);
  }
  landing.dst += bytes;
  message->bytes -= bytes;
}

void ChannelReader::reset(std::uint32_t epoch) {
  tag_ = {};
  forget(epoch);
  position_.store(control_.freed);
}

}  // namespace hemiola
