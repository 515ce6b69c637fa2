// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/executor/transfer_recorder.hpp"

#include <algorithm>

namespace hemiola {

std::vector<RecordedTransfer> TransferRecorder::latest() const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t kept = std::min<std::uint64_t>(count_, ring_.size());
  std::vector<RecordedTransfer> found;
  found.reserve(kept);
  for (std::uint64_t i = count_ - kept; i < count_; ++i) found.push_back(ring_[i % ring_.size()]);
  return found;
}

void TransferRecorder::begin_operation() {
  ++operation_;
  inner_->begin_operation();
}

void TransferRecorder::execute(const Program& program, const Buffers& buffers, const Arithmetic& arithmetic,
                               Supervisor* supervisor) {
  program_ = &program;
  place_of_task_.resize(program.tasks.size());
  inner_->execute(program, buffers, arithmetic, supervisor);
}

void TransferRecorder::posted(const MeteredMessage& message, std::int64_t now_ns) {
  if (next_ != nullptr) next_->posted(message, now_ns);
  const auto task = static_cast<std::size_t>(message.task);
  const CarriedTransfers& name = program_->carried_transfers[task];
  const std::lock_guard lock(mutex_);
  place_of_task_[task] = count_;
  ring_[count_++ % ring_.size()] = {.operation = operation_,
                                    .bytes = message.bytes,
                                    .begin_ns = now_ns,
                                    .peer = static_cast<std::int32_t>(message.peer),
                                    .step = name.step,
                                    .chunk = name.chunk,
                                    .chunk_count = name.chunk_count,
                                    .sending = message.sending,
                                    .reduce = name.reduce};
}

void TransferRecorder::finished(const MeteredMessage& message, std::int64_t now_ns) {
  if (next_ != nullptr) next_->finished(message, now_ns);
  const std::uint64_t place = place_of_task_[static_cast<std::size_t>(message.task)];
  const std::lock_guard lock(mutex_);
  if (place + ring_.size() < count_) return;  // later messages have taken its room
  RecordedTransfer& own = ring_[place % ring_.size()];
  own.bytes = message.bytes;  // a coded message's are known now
  own.end_ns = now_ns;
}

}  // namespace hemiola
