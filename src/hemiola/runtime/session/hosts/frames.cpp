// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/hosts/frames.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

/// No message is longer: a recipe of a synthesized schedule is the longest there is.
constexpr std::uint32_t kMostBytes = std::uint32_t{1} << 30;

/// Frames for all ranks are short: a reason, or a notice.
constexpr std::uint32_t kMostToAll = std::uint32_t{64} << 10;
/// Heads of two numbers, questions about a clock and their answers.
constexpr std::uint32_t kOriginBytes = 16, kPingBytes = 24;

struct Bounds {
  std::uint32_t least, most;
};

Bounds bounds_of(FrameKind kind) {
  switch (kind) {
    case FrameKind::beat:
    case FrameKind::parting:
    case FrameKind::begins:
      return {0, 0};
    case FrameKind::message:
      return {0, kMostBytes};
    case FrameKind::flood:
    case FrameKind::copy:
    case FrameKind::lost:
    case FrameKind::left:
      return {kOriginBytes, kMostToAll};
    case FrameKind::ping:
    case FrameKind::pong:
      return {kPingBytes, kPingBytes};
  }
  throw FormatError("a frame of kind " + std::to_string(static_cast<std::uint32_t>(kind)));
}

void check(const FrameHead& head) {
  const Bounds bounds = bounds_of(head.kind);
  if (head.bytes < bounds.least || head.bytes > bounds.most)
    throw FormatError("a frame of kind " + std::to_string(static_cast<std::uint32_t>(head.kind)) + " and " +
                      std::to_string(head.bytes) + " bytes, where " + std::to_string(bounds.least) + " to " +
                      std::to_string(bounds.most) + " were expected");
}

bool would_block(ssize_t result) {
  return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

}  // namespace

void FrameStream::put(FrameKind kind, std::uint64_t topic, std::span<const std::byte> content) {
  const FrameHead head{static_cast<std::uint32_t>(content.size()), kind, topic};
  Bytes frame(sizeof head + content.size());
  std::memcpy(frame.data(), &head, sizeof head);
  if (!content.empty()) std::memcpy(frame.data() + sizeof head, content.data(), content.size());
  outgoing_.push_back(std::move(frame));
}

bool FrameStream::flush() {
  while (!outgoing_.empty()) {
    const Bytes& frame = outgoing_.front();
    const ssize_t count = connection_.send(frame.data() + sent_, frame.size() - sent_);
    if (count < 0) return would_block(count) || ended(count);
    sent_ += static_cast<std::size_t>(count);
    if (sent_ < frame.size()) return true;
    outgoing_.pop_front();
    sent_ = 0;
  }
  return true;
}

/// Notes why nothing more comes or goes; false.
bool FrameStream::ended(ssize_t result) {
  has_hung_up_ = result == 0 || errno == ECONNRESET || errno == EPIPE;
  return false;
}

bool FrameStream::read(const Take& take) {
  std::array<std::byte, 65536> block;
  while (true) {
    const ssize_t count = connection_.receive(block.data(), block.size());
    if (would_block(count)) return true;
    if (count <= 0) return ended(count);
    incoming_.insert(incoming_.end(), block.begin(), block.begin() + count);
    take_frames(take);
    if (static_cast<std::size_t>(count) < block.size()) return true;
  }
}

void FrameStream::take_frames(const Take& take) {
  FrameHead head;
  while (incoming_.size() - taken_ >= sizeof head) {
    std::memcpy(&head, incoming_.data() + taken_, sizeof head);
    check(head);
    if (incoming_.size() - taken_ - sizeof head < head.bytes) break;
    take(head, std::span(incoming_).subspan(taken_ + sizeof head, head.bytes));
    taken_ += sizeof head + head.bytes;
  }
  if (taken_ == incoming_.size() || taken_ > (std::size_t{1} << 20)) {
    incoming_.erase(incoming_.begin(), incoming_.begin() + static_cast<std::ptrdiff_t>(taken_));
    taken_ = 0;
  }
}

void FrameStream::shut() {
  connection_.shut();
}

}  // namespace hemiola
