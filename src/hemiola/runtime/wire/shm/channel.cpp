#include "hemiola/runtime/wire/shm/channel.hpp"

#include <algorithm>
#include <cstring>

#include "hemiola/base/bulk_copy.hpp"

namespace hemiola {

void ChannelWriter::look_for_space() {
  const ChannelPosition freed = ChannelPosition::load(control_.freed);
  // The reader has not followed into this epoch: it may still be reading what we would overwrite.
  if (freed.epoch != position_.epoch) return;
  lines_ready_ = static_cast<std::uint32_t>(kRingBytes / kLineBytes) - (position_.line - freed.line);
}

bool ChannelWriter::progress() {
  const bool retired = retire();
  if (queue_.empty()) return retired;
  OutgoingMessage& message = queue_.front();
  if (message.bytes >= kBigBytes && !message.begun) return write_first_line(&message) || retired;
  return stream(&message) || retired;
}

/// Counts messages as completed whose bytes the reader has fetched.
bool ChannelWriter::retire() {
  if (unread_.empty()) return false;
  const ChannelPosition freed = ChannelPosition::load(control_.freed);
  if (freed.epoch != position_.epoch) return false;
  bool news = false;
  // The counters wrap, so what counts is the sign of their distance.
  while (!unread_.empty() && static_cast<std::int32_t>(freed.line - unread_.front()) >= 0) {
    unread_.pop();
    ++completed_;
    news = true;
  }
  return news;
}

bool ChannelWriter::write_first_line(OutgoingMessage* message) {
  if (lines_ready_ == 0) look_for_space();
  if (lines_ready_ == 0) return false;
  const bool fetched = message->source == Source::settled &&
                       control_.fetching.load(std::memory_order_relaxed) == Fetching::works;
  const std::uint64_t source = fetched ? reinterpret_cast<std::uintptr_t>(message->data) : 0;
  std::memcpy(place(), &source, sizeof source);
  advance(sizeof source);
  position_.store(control_.written);
  message->begun = true;
  if (fetched) finish_front(position_.line);
  return true;
}

bool ChannelWriter::stream(OutgoingMessage* message) {
  if (movable(message->bytes) < std::min(message->bytes, kPieceBytes)) look_for_space();
  const std::size_t bytes = movable(message->bytes);
  if (bytes == 0 && message->bytes > 0) return false;
  std::memcpy(place(), message->data, bytes);
  advance(bytes);
  position_.store(control_.written);
  message->data += bytes;
  message->bytes -= bytes;
  // The data may be reused at once; only the order of completion makes it wait for messages that are being fetched.
  if (message->bytes == 0) unread_.empty() ? complete_front() : finish_front(unread_.back());
  return true;
}

/// The message is written; it is completed when the reader has freed `line`.
void ChannelWriter::finish_front(std::uint32_t line) {
  queue_.pop();
  unread_.push(line);
}

void ChannelWriter::reset(std::uint32_t epoch) {
  unread_.clear();
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
  if (message.bytes >= kBigBytes && !message.begun && !read_first_line(&message)) return false;
  return message.source != 0 ? fetch(&message) : stream(&message);
}

bool ChannelReader::read_first_line(IncomingMessage* message) {
  if (lines_ready_ == 0) look_for_data();
  if (lines_ready_ == 0) return false;
  std::memcpy(&message->source, place(), sizeof message->source);
  message->begun = true;
  if (message->source != 0) return true;  // the line is freed when all is fetched
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
  if (bytes == 0 && message->bytes > 0) return false;
  land(message, place(), bytes);
  advance(bytes);
  position_.store(control_.freed);
  if (message->bytes == 0) complete_front();
  return true;
}

/// What has been fetched counts only if the writer was still in this epoch afterwards: when an operation fails
/// there, its wire is reset before the memory is used for anything else.
bool ChannelReader::fetch(IncomingMessage* message) {
  const bool combines = message->landing.combine != nullptr;
  std::byte* const to = combines ? bounce_ : message->landing.dst;
  const std::size_t bytes = memory_.read(to, message->source, std::min(message->bytes, kFetchBytes));
  if (bytes == 0 || !is_current()) return false;
  message->source += bytes;
  land(message, to, bytes);
  if (message->bytes > 0) return true;
  free_line();
  complete_front();
  return true;
}

void ChannelReader::land(IncomingMessage* message, const std::byte* from, std::size_t bytes) {
  Landing& landing = message->landing;
  if (landing.combine != nullptr) {
    bulk_combine(landing.combine, landing.dst, landing.operand, from, bytes);
    landing.operand += bytes;
  } else if (from != landing.dst) {
    bulk_copy(landing.dst, from, bytes);
  }
  landing.dst += bytes;
  message->bytes -= bytes;
}

void ChannelReader::reset(std::uint32_t epoch) {
  forget(epoch);
  position_.store(control_.freed);
}

}  // namespace hemiola
