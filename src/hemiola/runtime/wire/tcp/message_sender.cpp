// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/tcp/message_sender.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <span>

namespace hemiola {
namespace {

/// Small ones go together: a system call costs as much as a few kilobytes.
constexpr std::size_t kMostTogether = 16;

/// The end of `bytes` bytes at `from` of which `*skipped` are to be left out.
iovec rest_of(const void* from, std::size_t bytes, std::size_t* skipped) {
  const std::size_t left_out = std::min(bytes, *skipped);
  *skipped -= left_out;
  return {static_cast<std::byte*>(const_cast<void*>(from)) + left_out, bytes - left_out};
}

}  // namespace

std::uint64_t MessageSender::post(const OperationTag& tag, const std::byte* data, std::size_t bytes) {
  queue_.push({MessageHeader(tag, bytes, !queue_.empty()), data});
  return ++posted_;
}

bool MessageSender::progress(StreamSocket* socket) {
  if (idle() || !socket->writable()) return false;
  if (to_repeat_ > 0) return repeat(socket);
  std::array<iovec, 2 * kMostTogether> parts;
  const std::size_t together = std::min(kMostTogether, queue_.size());
  std::size_t skipped = written_;
  for (std::size_t i = 0; i < together; ++i) {
    const Outgoing& message = queue_[i];
    parts[2 * i] = rest_of(&message.header, sizeof message.header, &skipped);
    parts[2 * i + 1] = rest_of(message.data, message.header.bytes, &skipped);
  }
  const std::size_t bytes = socket->write(parts.data(), static_cast<int>(2 * together));
  advance(bytes, *socket);
  return bytes > 0;
}

bool MessageSender::repeat(StreamSocket* socket) {
  const auto rest = kept_->from(kept_->end() - to_repeat_);
  iovec part{const_cast<std::byte*>(rest.data()), rest.size()};
  const std::size_t bytes = socket->write(&part, 1);
  to_repeat_ -= bytes;
  return bytes > 0;
}

/// The caller may change a completed message's bytes, so those that may be needed again are copied.
void MessageSender::advance(std::size_t bytes, const StreamSocket& socket) {
  written_ += bytes;
  if (!is_front_written()) return;
  const std::uint64_t arrived = kept_ ? acknowledged(socket) : 0;
  while (is_front_written()) {
    const Outgoing& message = queue_.front();
    if (kept_) {
      kept_->append(arrived, std::as_bytes(std::span(&message.header, 1)));
      kept_->append(arrived, {message.data, message.header.bytes});
    }
    written_ -= sizeof(MessageHeader) + message.header.bytes;
    queue_.pop();
    ++completed_;
  }
}

/// The connection's first bytes are not the stream's, so this may be a few too low.
std::uint64_t MessageSender::acknowledged(const StreamSocket& socket) const {
  const std::uint64_t written = kept_->end() - to_repeat_ + written_;
  return written - std::min<std::uint64_t>(written, socket.unacknowledged());
}

void MessageSender::heed_acknowledgements(const StreamSocket& socket) {
  kept_->drop_before(std::min(acknowledged(socket), kept_->end()));
}

bool MessageSender::resume(std::uint64_t received) {
  if (received < kept_->begin() || received > kept_->end() - to_repeat_ + written_) return false;
  kept_->drop_before(received);
  to_repeat_ = kept_->end() - kept_->begin();
  written_ = received > kept_->end() ? received - kept_->end() : 0;
  return true;
}

void MessageSender::forget(std::uint64_t count) {
  queue_.clear();
  written_ = 0;
  posted_ = completed_ = count;
  to_repeat_ = 0;
  if (kept_) kept_->restart();
}

}  // namespace hemiola
