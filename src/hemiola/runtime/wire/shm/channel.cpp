#include "hemiola/runtime/wire/shm/channel.hpp"

#include <algorithm>
#include <cstring>

#include "hemiola/base/bulk_copy.hpp"
#include "hemiola/runtime/wire/message_fate.hpp"

namespace hemiola {

void ChannelWriter::look_for_space() {
  const ChannelPosition freed = ChannelPosition::load(control_.freed);
  // The reader has not followed into this epoch: it may still be reading what we would overwrite.
  if (freed.epoch != position_.epoch) return;
  lines_ready_ = static_cast<std::uint32_t>(kRingBytes / kLineBytes) - (position_.line - freed.line);
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
  if (said_ != message->tag || said_.has_hint != message->tag.has_hint) {
    say_tag(message->tag);
    if (!may_begin()) return position_.store(control_.written), true;
  }
  if (message->bytes >= kBigBytes) return begin_big(message), true;
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

/// Where the reader may, and where that costs less than two copies through the ring as far as is known, or than the time
/// until the reader has them from there.
bool ChannelWriter::is_to_fetch(const OutgoingMessage& message) {
  if (message.source == Source::working ||
      control_.fetching.load(std::memory_order_relaxed) != Fetching::works)
    return false;
  const ReadingCosts& costs = control_.costs[message.size_class];
  const float fetching = costs.fetch.load(std::memory_order_relaxed);
  const float taking = costs.take.load(std::memory_order_relaxed);
  const float copying = copiers_[message.size_class].cost();
  if (fetching == 0) return true;
  if (taking == 0 || copying == 0) return false;
  const float through_ring =
      message.counts_arrival ? costs.stream.load(std::memory_order_relaxed) : copying + taking;
  const bool is_better = fetching < through_ring;
  return trials_[message.size_class].next() != is_better;
}

void ChannelWriter::begin_big(OutgoingMessage* message) {
  message->size_class = size_class(message->bytes);
  const bool fetched = is_to_fetch(*message);
  const BigHeader header{message->bytes, fetched ? reinterpret_cast<std::uintptr_t>(message->data) : 0};
  std::memcpy(place(), &header, sizeof header);
  advance(kLineBytes);
  announce(kBigMark, position_.line + (fetched ? 0 : lines_of(message->bytes)));
  message->begun = true;
  position_.store(control_.written);
  if (fetched) finish_front(position_.line);
}

/// Says how large the message is that ends at line `end`; whoever sees it in `written` can read that.
void ChannelWriter::announce(std::uint16_t size, std::uint32_t end) {
  control_.sizes[size_slot_].store(size, std::memory_order_relaxed);
  ends_[size_slot_] = end;
  leave_size_slot();
}

bool ChannelWriter::stream(OutgoingMessage* message) {
  if (movable(message->bytes) < std::min(message->bytes, kPieceBytes)) look_for_space();
  const std::size_t bytes = movable(message->bytes);
  if (bytes == 0) return false;
  copiers_[message->size_class].copy(place(), message->data, bytes);
  advance(bytes);
  // Only now, beside the word on the same line: the reader, who looks at it all the time, would take the line away.
  if (!message->begun)
    announce(static_cast<std::uint16_t>(message->bytes), position_.line + lines_of(message->bytes - bytes));
  position_.store(control_.written);
  message->begun = true;
  message->data += bytes;
  message->bytes -= bytes;
  if (message->bytes == 0) finish_copied();
  return true;
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
  return message.source != 0 ? fetch(&message) : stream(&message);
}

bool ChannelReader::begin(IncomingMessage* message) {
  if (lines_ready_ == 0) look_for_data();
  if (lines_ready_ == 0 || !may_land()) return false;
  const std::uint16_t size = control_.sizes[size_slot_].load(std::memory_order_relaxed);
  BigHeader header{size, 0};
  if (size == kBigMark) std::memcpy(&header, place(), sizeof header);
  check_message_size(writer_, message->landing, message->bytes, header.bytes);
  leave_size_slot();
  if (message->landing.received != nullptr) *message->landing.received = header.bytes;
  message->bytes = header.bytes;
  payload_bytes_ += header.bytes;
  message->begun = true;
  if (size == kBigMark) return begin_big(message, header.source);
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
  own_->has_hint |= tag_.has_hint;
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
  return fate_of(tag, *own_) == Fate::is_foreign ? std::optional(tag) : std::nullopt;
}

bool ChannelReader::begin_big(IncomingMessage* message, std::uint64_t source) {
  message->source = source;
  message->whole_bytes = message->bytes;
  message->begin_ticks = ticks();
  if (source != 0) return fetch(message);  // the line is freed when all is fetched
  free_line();
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
  const bool is_big = message->whole_bytes > 0;
  const std::uint64_t begin = is_big ? ticks() : 0;
  land(message, place(), bytes);
  if (is_big) message->moved_ticks += ticks() - begin;
  advance(bytes);
  position_.store(control_.freed);
  if (message->bytes == 0) complete(*message);
  return true;
}

/// What has been fetched counts only if the writer was still in this epoch afterwards: when an operation fails
/// there, its wire is reset before the memory is used for anything else.
bool ChannelReader::fetch(IncomingMessage* message) {
  const bool combines = message->landing.combine != nullptr;
  const std::size_t bytes = std::min(message->bytes, combines ? kCombinedBytes : kFetchBytes);
  const std::uint64_t begin = ticks();
  if (!fetch_piece(message, bytes)) return false;
  message->moved_ticks += ticks() - begin;
  if (message->bytes > 0) return true;
  free_line();
  complete(*message);
  return true;
}

void ChannelReader::complete(const IncomingMessage& message) {
  if (message.whole_bytes > 0) note_costs(message);
  complete_front();
}

void ChannelReader::note_costs(const IncomingMessage& message) {
  const std::size_t kind = size_class(message.whole_bytes);
  const auto note = [&](std::uint64_t taken, MoveCost* cost, std::atomic<float>* said) {
    cost->note(taken, message.whole_bytes);
    said->store(cost->per_byte(), std::memory_order_relaxed);
  };
  ReadingCosts& said = control_.costs[kind];
  Costs& costs = costs_[kind];
  if (message.source != 0) return note(message.moved_ticks, &costs.fetch, &said.fetch);
  note(message.moved_ticks, &costs.take, &said.take);
  note(ticks() - message.begin_ticks, &costs.stream, &said.stream);
}

bool ChannelReader::fetch_piece(IncomingMessage* message, std::size_t wanted) {
  const bool combines = message->landing.combine != nullptr;
  std::byte* const to = combines ? bounce_ : message->landing.dst;
  const std::size_t bytes = memory_.read(to, message->source, wanted);
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
