// SPDX-License-Identifier: Apache-2.0
// A communicator as Python holds it: the present calls of its threads, and its error once it is closed.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "hemiola/base/home_process.hpp"
#include "hemiola/bindings/call_memo.hpp"
#include "hemiola/bindings/gil.hpp"
#include "hemiola/bindings/messages.hpp"
#include "hemiola/bindings/signals.hpp"
#include "hemiola/runtime/communicator/call_desk.hpp"
#include "hemiola/runtime/communicator/communicator.hpp"

namespace hemiola::bindings {

/// A communicator and the memos of its calls.
struct CommunicatorCore {
  CommunicatorCore(std::shared_ptr<Session> session, std::vector<Rank> members,
                   const CommunicatorOptions& options, Chooser chooser, const std::function<void()>& check)
      : communicator(std::move(session), std::move(members), options, check) {
    desk.emplace(&communicator, std::move(chooser));
  }

  /// An operation in the background may need the GIL to come to its end, so its holder releases it.
  static void destroy(const CommunicatorCore* core) {
    const GilReleased release;
    delete core;
  }

  std::optional<CallDesk> desk;  ///< made last, but operations use it until the communicator has ended
  Communicator communicator;
};

/// Python's object. Threads that are in a call keep the core, so that closing takes nothing away from under them. All
/// of it is guarded by the GIL, which callers hold.
class PyCommunicator {
 public:
  PyCommunicator(std::shared_ptr<Session> session, const std::vector<int>& members,
                 const CommunicatorOptions& options, Chooser chooser, const PyCommunicator* parent);
  ~PyCommunicator() { close(); }

  /// Ends the calls of other threads, and waits until they have left; a call of this thread, in which a signal handler
  /// has closed the communicator, ends when the handler returns.
  void close();
  /// Where another thread has closed it, or this is a forked child, there is nobody to tell.
  void abort(const std::string& reason);
  /// As of Communicator; nothing where it is closed.
  void call();
  /// Throws in a forked child.
  void check_process() const { home_.check(); }
  std::shared_ptr<CommunicatorCore> core() const;

  /// As of Communicator, here and below.
  void run(const Call& call);
  /// Runs the latest call of this kind again and returns its result, where these are its arguments and conditions are as they
  /// were. Nothing: it has run nothing.
  std::optional<nanobind::object> run_again(OperationKind kind, const CallMemo::Arguments& arguments);
  /// Of calls that Python runs: `remember` keeps the only one since `forget_latest`, where it can be run again.
  void forget_latest() { latest_ = {}; }
  void remember(OperationKind kind, const CallMemo::Arguments& arguments, nanobind::handle result);
  /// `owner` owns the arrays; it is let go of when the operation is over, by any thread and without the GIL.
  std::shared_ptr<PendingOperation> start(const Call& call, std::shared_ptr<const void> owner);
  /// Sends or receives a message; returns whose it was.
  int run_message(const PyMessage& from);
  PendingMessage start_message(const PyMessage& from);
  nanobind::bytes recipe(std::string_view kind, std::int64_t byte_count, int root);

  /// Pairs of int64, per operation and rank: when it came, and its own time before; -1: there was none.
  nanobind::bytes arrivals();
  nanobind::bytes own_arrivals();
  void forget_arrivals();
  std::vector<std::pair<std::string, std::int64_t>> operations();
  /// Per rank: the speed on the way to it, and on the way from it.
  std::vector<std::pair<float, float>> pair_shares();
  /// Bytes per rank: sent to it, and received from it.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> payloads();
  /// A RecordedTransfer each, as it lies in memory.
  nanobind::bytes recorded_transfers() const;
  /// By name: of values to be added, and of those to be copied.
  using CountByFormat = std::map<std::string, std::uint64_t>;
  std::pair<CountByFormat, CountByFormat> sent_forms();
  Communicator::Health health();
  bool expects_late_rank(std::int64_t bytes);
  /// By rank; this one's own is empty.
  std::vector<std::string> carriers() const;
  bool watch_ports(const std::vector<int>& port, const std::vector<double>& healthy);
  void adopt_ports(const std::map<Rank, double>& measured);

 private:
  /// The time for which closing waits for other threads; later they go on in the core that they keep.
  static constexpr double kLongestLeave_s = 5;

  enum class Purpose : std::uint8_t {
    take_part,  ///< in something that all ranks do in the same order
    look,       ///< at this rank's knowledge
  };

  /// One thread's call, from its first moment to its last, both of which have the GIL.
  class Visit {
   public:
    Visit(PyCommunicator* host, Purpose purpose);
    ~Visit();
    Visit(const Visit&) = delete;

    CommunicatorCore* operator->() const { return core_.get(); }

   private:
    std::shared_ptr<CommunicatorCore> core_;
    PyCommunicator* host_;
  };

  template <typename Ask>
  auto between_operations(Ask ask);
  bool others_are_inside() const;

  HomeProcess home_;
  std::shared_ptr<CommunicatorCore> core_;  ///< null: closed
  std::string aborted_;                     ///< the error of its calls since; empty: it was not
  std::vector<std::thread::id> inside_;

  struct Latest {
    int count = 0;  ///< of calls that have ended
    std::thread::id thread;
    std::optional<PreparedCall> prepared;
  };
  Latest latest_;
  std::array<std::unique_ptr<CallMemo>, kOperationKinds> memos_;  ///< null: its operation runs
};

/// Waits, looking for signals now and then; the caller does not hold the GIL. Returns false after `timeout_s`.
bool wait_hearing_signals(PendingOperation& pending, double timeout_s);

}  // namespace hemiola::bindings
