// SPDX-License-Identifier: Apache-2.0
// A communicator of the core with the desk that prepares its calls. A call that comes again runs as it was prepared, since
// programs repeat theirs and preparing one takes half of a small call's time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "hemiola/runtime/communicator/call_desk.hpp"
#include "hemiola/runtime/communicator/communicator.hpp"

namespace hemiola::c {

/// Any thread may call anything.
struct Core {
  Core(std::shared_ptr<Session> session, std::vector<Rank> members, const CommunicatorOptions& options,
       Chooser chooser)
      : communicator(std::move(session), std::move(members), options) {
    desk.emplace(&communicator, std::move(chooser));
  }

  void run(const Call& call) {
    const CallNames names = CallNames::of(call);
    std::unique_ptr<Memo> memo = take_memo();
    if (!memo || memo->names != names || !communicator.is_current(memo->prepared))
      memo = std::make_unique<Memo>(names, desk->prepare(call, {}));
    communicator.run(memo->prepared);
    if (memo->prepared.operation.course) return;  // which runs once
    const std::lock_guard lock(mutex_);
    memo_ = std::move(memo);
  }

  std::optional<CallDesk> desk;  ///< made last, but operations use it until the communicator has ended
  Communicator communicator;

 private:
  /// All that a program says in a call; nothing that it says in other ways, such as a schedule, is looked at here.
  struct CallNames {
    OperationKind kind;
    Op op;
    DType dtype;
    bool is_usual;  ///< it has no schedule and no complaint
    std::int64_t root, input_elements, output_elements;
    const std::byte *input, *output;

    static CallNames of(const Call& call) {
      const auto elements = [](const auto& array) { return array ? array->element_count() : -1; };
      const auto data = [](const auto& array) { return array ? array->data : nullptr; };
      const DType dtype = call.output ? call.output->dtype : DType::uint8;
      return {call.kind,
              call.op,
              dtype,
              !call.schedule && call.complaint.empty(),
              call.root,
              elements(call.input),
              elements(call.output),
              data(call.input),
              data(call.output)};
    }
    bool operator==(const CallNames& other) const = default;
  };
  struct Memo {
    CallNames names;
    PreparedCall prepared;
  };

  std::unique_ptr<Memo> take_memo() {
    const std::lock_guard lock(mutex_);
    return memo_ && memo_->names.is_usual ? std::move(memo_) : nullptr;
  }

  std::mutex mutex_;  ///< guards the memo, which a running call takes with it
  std::unique_ptr<Memo> memo_;
};

}  // namespace hemiola::c
