// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/tcp/message_sender.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>

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
  if (queue_.empty() || !socket->writable()) return false;
  std::array<iovec, 2 * kMostTogether> parts;
  const std::size_t together = std::min(kMostTogether, queue_.size());
  std::size_t skipped = written_;
  for (std::size_t i = 0; i < together; ++i) {
    const Outgoing& message = queue_[i];
    parts[2 * i] = rest_of(&message.header, sizeof message.header, &skipped);
    parts[2 * i + 1] = rest_of(message.data, message.header.bytes, &skipped);
  }
  const std::size_t bytes = socket->write(parts.data(), static_cast<int>(2 * together));
  advance(bytes);
  return bytes > 0;
}

void MessageSender::advance(std::size_t bytes) {
  written_ += bytes;
  while (!queue_.empty() && written_ >= sizeof(MessageHeader) + queue_.front().header.bytes) {
    written_ -= sizeof(MessageHeader) + queue_.front().header.bytes;
    queue_.pop();
    ++completed_;
  }
}

void MessageSender::forget(std::uint64_t count) {
  queue_.clear();
  written_ = 0;
  posted_ = completed_ = count;
}

}  // namespace hemiola
