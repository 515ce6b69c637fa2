// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/mpi/mpi_sender.hpp"

#include <algorithm>

#include "hemiola/base/plain_copy.hpp"

namespace hemiola {

std::uint64_t MpiSender::post(const OperationTag& tag, const std::byte* data, std::size_t bytes) {
  queue_.push({tag, data, bytes});
  return ++posted_;
}

bool MpiSender::progress(std::uint32_t epoch, MpiFramePool* pool) {
  bool moved = reap(pool);
  for (; !queue_.empty() && in_flight_.size() < kMostInFlight; moved = true) send_frame(epoch, pool);
  return moved;
}

void MpiSender::send_frame(std::uint32_t epoch, MpiFramePool* pool) {
  const Outgoing& message = queue_.front();
  const std::size_t bytes = std::min(message.bytes - cut_, MpiFrame::kPayload);
  MpiFrame* const frame = pool->take(sizeof(MpiFrameHeader) + bytes);
  frame->set_header({.message_bytes = message.bytes,
                     .digest = message.tag.digest,
                     .operation = message.tag.operation,
                     .epoch = epoch,
                     .version = message.tag.version,
                     .flags = message.tag.hints});
  if (bytes > 0) plain_copy(frame->payload(), message.data + cut_, bytes);
  cut_ += bytes;
  const bool ends_message = cut_ == message.bytes;
  const MpiTicket ticket = library_->send(frame->data(), sizeof(MpiFrameHeader) + bytes, peer_, tag_);
  in_flight_.push({frame, ticket, ends_message});
  if (!ends_message) return;
  queue_.pop();
  cut_ = 0;
}

/// Frames are let go of in any order, but messages are done one after the other.
bool MpiSender::reap(MpiFramePool* pool) {
  bool moved = false;
  for (std::size_t i = 0; i < in_flight_.size(); ++i)
    if (!in_flight_[i].is_over) in_flight_[i].is_over = library_->is_over(&in_flight_[i].ticket);
  for (; !in_flight_.empty() && in_flight_.front().is_over; moved = true) {
    completed_ += in_flight_.front().ends_message ? 1 : 0;
    pool->give(in_flight_.front().frame);
    in_flight_.pop();
  }
  return moved;
}

void MpiSender::forget() {
  queue_.clear();
  cut_ = 0;
  for (std::size_t i = 0; i < in_flight_.size(); ++i) in_flight_[i].ends_message = false;
  completed_ = posted_;
}

std::vector<MpiFrameInFlight> MpiSender::take_in_flight() {
  std::vector<MpiFrameInFlight> all;
  for (; !in_flight_.empty(); in_flight_.pop())
    if (!in_flight_.front().is_over) all.push_back(in_flight_.front());
  return all;
}

}  // namespace hemiola
