// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/tcp/message_receiver.hpp"

#include <algorithm>
#include <cstring>

#include "hemiola/base/bulk_copy.hpp"
#include "hemiola/base/plain_copy.hpp"
#include "hemiola/runtime/session/lost_member.hpp"
#include "hemiola/runtime/wire/message_fate.hpp"

namespace hemiola {

std::uint64_t MessageReceiver::post(const Landing& landing, std::size_t capacity) {
  queue_.push({landing, capacity});
  return ++posted_;
}

MessageHeader MessageReceiver::next_header() const {
  MessageHeader header;
  std::memcpy(&header, next_ahead(), sizeof header);
  return header;
}

std::optional<OperationTag> MessageReceiver::foreign(const OperationTag& own) const {
  if (!has_header()) return std::nullopt;
  return foreign_tag(next_header().tag(), own, !queue_.empty());
}

void MessageReceiver::check_header() const {
  if (is_garbled()) throw BadMessageError(peer_, "32 bytes that are no header of a message");
}

bool MessageReceiver::progress(StreamSocket* socket, OperationTag* own, BounceBuffer* bounce) {
  first_begun_.reset();
  bool moved = land_ahead(own, bounce);
  if (socket->readable() && (begun_ || !has_header())) {
    moved |= read(socket, bounce);
    moved |= land_ahead(own, bounce);
  }
  return moved;
}

/// Takes the next message's header if it may land.
bool MessageReceiver::begin(OperationTag* own) {
  if (!has_header()) return false;
  const MessageHeader header = next_header();
  check_header();
  if (queue_.empty()) return false;
  if (fate_of(header.tag(), *own) != Fate::lands) return false;
  check_message_size(peer_, queue_.front().landing, queue_.front().capacity, header.bytes);
  own->hints |= header.tag().hints;
  ahead_begin_ += sizeof header;
  size_ = header.bytes;
  payload_bytes_ += size_;
  if (!first_begun_) first_begun_ = header;
  landed_ = carried_ = 0;
  begun_ = true;
  return true;
}

bool MessageReceiver::land_ahead(OperationTag* own, BounceBuffer* bounce) {
  bool moved = false;
  while (begun_ || begin(own)) {
    const std::size_t bytes = std::min(left(), ahead());
    if (bytes > 0) take_ahead(bytes, bounce);
    moved |= bytes > 0;
    if (left() > 0) break;
    complete();
    moved = true;
  }
  return moved;
}

void MessageReceiver::take_ahead(std::size_t bytes, BounceBuffer* bounce) {
  const Landing& landing = queue_.front().landing;
  if (landing.combine == nullptr) {
    plain_copy(landing.dst + landed_, next_ahead(), bytes);
    landed_ += bytes;
    ahead_begin_ += bytes;
    return;
  }
  while (bytes > 0) {
    const std::size_t piece = std::min(bytes, BounceBuffer::kBytes - carried_);
    plain_copy(place_in(bounce), next_ahead(), piece);
    combine(piece, bounce);
    ahead_begin_ += piece;
    bytes -= piece;
  }
}

void MessageReceiver::take_rest(StreamSocket* socket, std::size_t skipped) {
  ahead_.erase(ahead_.begin() + static_cast<std::ptrdiff_t>(ahead_end_), ahead_.end());
  std::array<std::byte, kAheadBytes> block;
  for (bool more = socket->ask_anew(); more;) {
    iovec part{block.data(), block.size()};
    const std::size_t bytes = socket->read(&part, 1);
    const std::size_t left_out = std::min(bytes, skipped);
    skipped -= left_out;
    ahead_.insert(ahead_.end(), block.begin() + static_cast<std::ptrdiff_t>(left_out),
                  block.begin() + static_cast<std::ptrdiff_t>(bytes));
    byte_count_ += bytes - left_out;
    more = bytes > 0;
  }
  ahead_end_ = ahead_.size();
}

/// Reads the rest of the message that has begun, and then the next one.
bool MessageReceiver::read(StreamSocket* socket, BounceBuffer* bounce) {
  make_room_ahead();
  iovec parts[2] = {};
  int count = 0;
  if (begun_) {
    const Landing& landing = queue_.front().landing;
    parts[count++] = landing.combine != nullptr
                         ? iovec{place_in(bounce), std::min(left(), BounceBuffer::kBytes - carried_)}
                         : iovec{landing.dst + landed_, left()};
  }
  const std::size_t room = begun_ ? parts[0].iov_len : 0;
  if (room == (begun_ ? left() : 0))
    parts[count++] = {ahead_.data() + ahead_end_, ahead_.size() - ahead_end_};
  const std::size_t bytes = socket->read(parts, count);
  byte_count_ += bytes;
  const std::size_t to_message = std::min(bytes, room);
  ahead_end_ += bytes - to_message;
  if (!begun_ || bytes == 0) return bytes > 0;
  if (queue_.front().landing.combine != nullptr)
    combine(to_message, bounce);
  else
    landed_ += to_message;
  return true;
}

/// The present bytes are less than a header, or none.
void MessageReceiver::make_room_ahead() {
  if (ahead_begin_ > 0) {
    std::memmove(ahead_.data(), next_ahead(), ahead());
    ahead_end_ = ahead();
    ahead_begin_ = 0;
  }
  ahead_.resize(kAheadBytes);
}

/// Where the next bytes to be combined go: behind those that are carried.
std::byte* MessageReceiver::place_in(BounceBuffer* bounce) {
  std::memcpy(bounce->data(), carry_.data(), carried_);
  return bounce->data() + carried_;
}

/// Combines whole lines of the carried bytes and the `bytes` that have come behind it, and carries the rest, unless it
/// is the last.
void MessageReceiver::combine(std::size_t bytes, BounceBuffer* bounce) {
  const Landing& landing = queue_.front().landing;
  const std::size_t all = carried_ + bytes;
  const std::size_t whole = landed_ + all == size_ ? all : all / kCarryBytes * kCarryBytes;
  if (whole > 0)
    bulk_combine(landing.combine, landing.dst + landed_, landing.operand + landed_, bounce->data(), whole);
  landed_ += whole;
  carried_ = all - whole;
  std::memcpy(carry_.data(), bounce->data() + whole, carried_);
}

void MessageReceiver::complete() {
  if (std::size_t* const received = queue_.front().landing.received) *received = size_;
  queue_.pop();
  ++completed_;
  begun_ = false;
}

void MessageReceiver::forget(std::uint64_t count) {
  queue_.clear();
  posted_ = completed_ = count;
  forgotten_ = byte_count_;
  begun_ = false;
  ahead_begin_ = ahead_end_ = 0;
}

}  // namespace hemiola
