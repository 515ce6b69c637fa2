// SPDX-License-Identifier: Apache-2.0
// An executor that keeps the times of the latest messages of another one. It stands around that one only where somebody
// has asked for them, so that nothing is paid for it elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "hemiola/runtime/executor/executor.hpp"
#include "hemiola/runtime/executor/message_meter.hpp"

namespace hemiola {

/// One message of this rank, or one slice of it: one or more transfers of a step that travel together.
struct RecordedTransfer {
  std::int64_t operation = 0;  ///< counted from 0
  std::int64_t bytes = 0;
  std::int64_t begin_ns = 0;  ///< of the wire's clock: when it was posted
  std::int64_t end_ns = 0;    ///< when it was seen to be done; 0: it was not
  std::int32_t peer = 0;
  std::int32_t step = 0;
  std::int32_t chunk = 0;  ///< the first
  std::int32_t chunk_count = 0;
  std::uint8_t sending = 0;
  std::uint8_t reduce = 0;

  friend bool operator==(const RecordedTransfer&, const RecordedTransfer&) = default;
};

class TransferRecorder final : public Executor, public MessageMeter {
 public:
  /// Keeps so many messages, and tells `next` of all of them; null: nobody.
  TransferRecorder(std::size_t kept, MessageMeter* next) : next_(next), ring_(kept) {}
  /// The executor that does the work, and has this recorder for its meter. Before anything else.
  void stand_around(std::unique_ptr<Executor> inner) { inner_ = std::move(inner); }

  /// The latest messages, in the order in which they were posted. Any thread may ask at any time.
  std::vector<RecordedTransfer> latest() const;

  void begin_operation() override;
  /// Programs must name their messages: CompileOptions::names_transfers.
  void execute(const Program& program, const Buffers& buffers, const Arithmetic& arithmetic,
               Supervisor* supervisor) override;
  void choose_formats_by(const codec::CostsOfUse& costs) override { inner_->choose_formats_by(costs); }
  bool carries_hints() const override { return inner_->carries_hints(); }
  void spread_hint() override { inner_->spread_hint(); }
  bool has_hint() const override { return inner_->has_hint(); }
  SentForms sent_forms() const override { return inner_->sent_forms(); }
  void restore() override { inner_->restore(); }

  void posted(const MeteredMessage& message, std::int64_t now_ns) override;
  void finished(const MeteredMessage& message, std::int64_t now_ns) override;

 private:
  MessageMeter* const next_;
  std::unique_ptr<Executor> inner_;
  std::int64_t operation_ = -1;
  const Program* program_ = nullptr;
  std::vector<std::uint64_t> place_of_task_;  ///< in the order of all messages since the beginning

  mutable std::mutex mutex_;  ///< guards the rest
  std::vector<RecordedTransfer> ring_;
  std::uint64_t count_ = 0;  ///< of messages since the beginning
};

}  // namespace hemiola
