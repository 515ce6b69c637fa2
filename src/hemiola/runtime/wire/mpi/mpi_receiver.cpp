// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/mpi/mpi_receiver.hpp"

#include "hemiola/base/bulk_copy.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/lost_member.hpp"
#include "hemiola/runtime/wire/message_fate.hpp"

namespace hemiola {
namespace {

/// Epochs wrap, so the sign of their distance counts.
std::int32_t epochs_ahead(const MpiFrameHeader& header, std::uint32_t epoch) {
  return static_cast<std::int32_t>(header.epoch - epoch);
}

}  // namespace

std::uint64_t MpiReceiver::post(const Landing& landing, std::size_t capacity) {
  queue_.push({landing, capacity});
  return ++posted_;
}

bool MpiReceiver::progress(std::uint32_t epoch, OperationTag* own, MpiFramePool* pool) {
  const bool has_come = take_in(pool);
  return land(epoch, own, pool) || has_come;
}

bool MpiReceiver::take_in(MpiFramePool* pool) {
  bool moved = false;
  while (arriving_.size() < kMostAhead) {
    const std::optional<MpiMatch> match = library_->match(peer_, tag_);
    if (!match) break;
    if (match->bytes < sizeof(MpiFrameHeader) || match->bytes > sizeof(MpiFrameHeader) + MpiFrame::kPayload)
      throw BadMessageError(number_, "a message over MPI that is no frame");
    MpiFrame* const frame = pool->take(match->bytes);
    const MpiTicket ticket = library_->receive(*match, frame->data());
    arriving_.push({{frame, ticket}, match->bytes - sizeof(MpiFrameHeader)});
    ++taking_;
    moved = true;
  }
  for (std::size_t i = 0; taking_ > 0 && i < arriving_.size(); ++i) {
    MpiFrameInFlight& held = arriving_[i].held;
    if (held.is_over || !library_->is_over(&held.ticket)) continue;
    held.is_over = true;
    --taking_;
    moved = true;
  }
  return moved;
}

bool MpiReceiver::land(std::uint32_t epoch, OperationTag* own, MpiFramePool* pool) {
  bool moved = false;
  while (!arriving_.empty() && arriving_.front().held.is_over) {
    const MpiFrameHeader header = arriving_.front().held.frame->header();
    const std::int32_t ahead = epochs_ahead(header, epoch);
    if (ahead > 0 || (ahead == 0 && !begun_ && !begin(header, own))) break;
    if (ahead == 0) land_front();
    drop_front(pool);
    moved = true;
  }
  return moved;
}

/// Whether the next message may land.
bool MpiReceiver::begin(const MpiFrameHeader& header, OperationTag* own) {
  if (queue_.empty() || fate_of(header.tag(), *own) != Fate::lands) return false;
  check_message_size(number_, queue_.front().landing, queue_.front().capacity, header.message_bytes);
  own->hints |= header.tag().hints;
  size_ = header.message_bytes;
  payload_bytes_ += size_;
  landed_ = 0;
  begun_ = true;
  return true;
}

void MpiReceiver::land_front() {
  const Landing& landing = queue_.front().landing;
  const std::byte* const from = arriving_.front().held.frame->payload();
  const std::size_t bytes = arriving_.front().bytes;
  if (bytes > size_ - landed_)
    throw BadMessageError(number_, "frames with more bytes than the message that they are of");
  if (landing.combine != nullptr)
    bulk_combine(landing.combine, landing.dst + landed_, landing.operand + landed_, from, bytes);
  else if (bytes > 0)
    bulk_copy(landing.dst + landed_, from, bytes);
  landed_ += bytes;
  if (landed_ < size_) return;
  if (landing.received != nullptr) *landing.received = size_;
  queue_.pop();
  ++completed_;
  begun_ = false;
}

void MpiReceiver::drop_front(MpiFramePool* pool) {
  pool->give(arriving_.front().held.frame);
  arriving_.pop();
}

std::optional<OperationTag> MpiReceiver::foreign(std::uint32_t epoch, const OperationTag& own) {
  if (begun_ || arriving_.empty() || !arriving_.front().held.is_over) return std::nullopt;
  const MpiFrameHeader header = arriving_.front().held.frame->header();
  if (epochs_ahead(header, epoch) != 0) return std::nullopt;
  return foreign_tag(header.tag(), own, !queue_.empty());
}

void MpiReceiver::forget() {
  queue_.clear();
  completed_ = posted_;
  begun_ = false;
}

std::vector<MpiFrameInFlight> MpiReceiver::take_in_flight() {
  std::vector<MpiFrameInFlight> all;
  for (; !arriving_.empty(); arriving_.pop())
    if (!arriving_.front().held.is_over) all.push_back(arriving_.front().held);
  return all;
}

}  // namespace hemiola
