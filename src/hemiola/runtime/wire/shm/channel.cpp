#include "hemiola/runtime/wire/shm/channel.hpp"

#include <algorithm>
#include <cstring>

namespace hemiola {

void ChannelWriter::look_for_space() {
  const ChannelPosition freed = ChannelPosition::load(control_.freed);
  // The reader has not followed into this epoch: it may still be reading what we would overwrite.
  if (freed.epoch != position_.epoch) return;
  lines_ready_ = static_cast<std::uint32_t>(kRingBytes / kLineBytes) - (position_.line - freed.line);
}

bool ChannelWriter::progress() {
  if (queue_.empty()) return false;
  OutgoingMessage& message = queue_.front();
  if (movable(message.bytes) < std::min(message.bytes, kPieceBytes)) look_for_space();
  const std::size_t bytes = movable(message.bytes);
  if (bytes == 0 && message.bytes > 0) return false;
  std::memcpy(ring_ + offset(), message.data, bytes);
  advance(bytes);
  position_.store(control_.written);
  message.data += bytes;
  message.bytes -= bytes;
  if (message.bytes == 0) complete_front();
  return true;
}

void ChannelWriter::reset(std::uint32_t epoch) {
  forget(epoch);
  position_.store(control_.written);
}

void ChannelReader::look_for_data() {
  const ChannelPosition written = ChannelPosition::load(control_.written);
  if (written.epoch == position_.epoch) lines_ready_ = written.line - position_.line;
}

bool ChannelReader::progress() {
  if (queue_.empty()) return false;
  auto& [landing, left] = queue_.front();
  if (movable(left) < std::min(left, kPieceBytes)) look_for_data();
  const std::size_t bytes = movable(left);
  if (bytes == 0 && left > 0) return false;
  if (landing.combine != nullptr) {
    landing.combine(landing.dst, landing.operand, ring_ + offset(), bytes);
    landing.operand += bytes;
  } else {
    std::memcpy(landing.dst, ring_ + offset(), bytes);
  }
  advance(bytes);
  position_.store(control_.freed);
  landing.dst += bytes;
  left -= bytes;
  if (left == 0) complete_front();
  return true;
}

void ChannelReader::reset(std::uint32_t epoch) {
  forget(epoch);
  position_.store(control_.freed);
}

}  // namespace hemiola
