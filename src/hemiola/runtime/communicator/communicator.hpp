// SPDX-License-Identifier: Apache-2.0
// The user's handle, without Python: ranks that can run collectives together. Operations run one after the other, in
// the caller's thread or in one that the job lends. It gives them numbers, waits until all ranks have come, and
// recovers from those that fail. The operation itself does the work.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hemiola/base/since.hpp"
#include "hemiola/runtime/adaptation/adaptation.hpp"
#include "hemiola/runtime/adaptation/arrival_log.hpp"
#include "hemiola/runtime/adaptation/port_watch.hpp"
#include "hemiola/runtime/communicator/background.hpp"
#include "hemiola/runtime/communicator/connection.hpp"
#include "hemiola/runtime/communicator/pending_operation.hpp"
#include "hemiola/runtime/communicator/prepared_call.hpp"
#include "hemiola/runtime/communicator/turn.hpp"
#include "hemiola/runtime/executor/executor.hpp"
#include "hemiola/runtime/executor/patience.hpp"
#include "hemiola/runtime/messages/messenger.hpp"
#include "hemiola/runtime/operation/agreement.hpp"
#include "hemiola/runtime/operation/operation_watch.hpp"
#include "hemiola/runtime/operation/own_time.hpp"
#include "hemiola/runtime/operation/program_cache.hpp"
#include "hemiola/runtime/session/members.hpp"

namespace hemiola {

class Communicator {
 public:
  /// Collective over the members (ranks of the session, this one among them), which are numbered in the order given, the
  /// same on all of them. `interrupted` is called while others are waited for, and throws to give up.
  Communicator(std::shared_ptr<Session> session, std::vector<Rank> members,
               const CommunicatorOptions& options, const std::function<void()>& interrupted = {});
  /// Closes it. No other thread may be in it any more.
  ~Communicator();
  Communicator(const Communicator&) = delete;

  /// Called now and then by waiting calls; throws to abort.
  using Check = std::function<void()>;

  Rank rank() const { return members_.self; }
  int rank_count() const { return members_.count(); }
  const Members& members() const { return members_; }
  const CommunicatorOptions& options() const { return options_; }
  ProgramCache& programs() { return programs_; }
  const CompileOptions& compile_options() const { return connection_.compile; }
  const Control& control() const { return connection_.control; }
  const Adaptation& adaptation() const { return adaptation_; }
  /// As of Wire, for another rank.
  std::string carrier(Rank peer) const { return connection_.wire->carrier(peer); }

  /// Blocks until the operation is over, after all that were started before it. Throws MismatchError (the communicator
  /// stays usable), LostRankError or TimeoutError (it does not), and the error of `interrupted`; inputs are as they
  /// were.
  void run(const PreparedCall& call, const Check& interrupted = {});
  /// Runs the operation in the background, after all that were started before it.
  std::shared_ptr<PendingOperation> start(PreparedCall call);
  /// Whether nothing has been learnt since a call was prepared that would prepare it otherwise. Any thread may ask.
  bool is_current(const PreparedCall& call) const {
    return !call.epoch || *call.epoch == adaptation_.epoch();
  }
  /// Messages between two ranks, beside the operations and in no order with them.
  /// Throws ArgumentError where there are none.
  Messenger& messages();
  /// Ends it, from any thread and as often as one likes, without waiting: running and waiting calls throw a
  /// LostRankError that says so, and the other ranks are told once this rank needs nothing of them any more.
  void close();
  /// As `close`, but the other ranks are told at once, with the reason, and their waiting calls end, too; so do
  /// messages that have not left. Blocks until this rank's running operation has ended; without effect once it is
  /// closed.
  void abort(const std::string& reason);
  /// How it was closed or aborted first; empty while it is open.
  std::string ending_text() const;
  /// A check that throws as `interrupted` does, which outlives it, and once the communicator has been closed.
  Check until_closed(const Check& interrupted);

  /// Prepares a call again that was prepared in another epoch than that of its turn. Called in the thread that runs the
  /// operation; all ranks do the same at the same operation.
  using Renew = std::function<PreparedCall(const PreparedCall&, const Check& interrupted)>;
  void when_outdated(Renew renew) { renew_ = std::move(renew); }
  /// Some of its ranks, by their numbers in the session, for whom somebody waits.
  struct Expected {
    std::vector<Rank> ranks;
    Since closed = {};  ///< one has closed its communicator
  };
  /// For a caller that waits for some of its ranks outside an operation, to make a group of them. Throws a
  /// LostRankError if one has closed it, or has given it up over a failure that this rank has not noticed yet. That one
  /// will not come, or it comes after a failure that this rank will then have behind it, too. Between hosts, a rank may
  /// have closed it over the loss of another one, of which this rank is about to be told.
  void expect(Expected* expected);
  /// For an error outside an operation, after which this rank's calls are no longer the others': as if an operation had
  /// raised it. Throws the error of every further call if the communicator was given up before.
  void break_off(const std::exception_ptr& error);
  /// Has the next operations call for the next members: this rank leaves. Any thread may say so.
  void call() { calls_ = true; }
  /// Whether a rank has called in the latest operation that has not failed; the same on all ranks after the same
  /// operation.
  bool is_called() const { return is_called_; }
  /// Whether this rank has neither given it up nor closed it.
  bool is_whole() const { return !is_broken_ && !closing_; }
  /// From now on slow ports are noticed where bytes come over a network; ranks that share one have memory in common. The
  /// same `ports` on all ranks, which call it between the same two operations. False where the wire does not learn when
  /// bytes come. Throws as Session::shared does.
  bool watch_ports(RankPorts ports, const Check& interrupted);
  /// Takes over which ports are slow, as ranks have measured on purpose: the same `measured` on all ranks, which call it
  /// between the same two operations. Nothing where no ports are watched.
  void adopt_ports(const std::map<Rank, double>& measured, const Check& interrupted);

  /// The findings about the ports; nothing if the wire has none.
  struct Health {
    bool is_watching = false;
    std::uint64_t operation_count = 0;
    PortWatch::Report ports;
    std::vector<std::string> complaints;  ///< of this rank about the network
  };
  Health health(const Check& interrupted = {});
  /// Whether an all-reduce of so many bytes that leaves the choice to us would look for a late rank now, or be planned for one.
  bool expects_late_rank(std::int64_t bytes, const Check& interrupted = {});
  /// From now on the learner gets notes. All ranks add the same between the same two operations, while no other thread is in
  /// the communicator.
  void learn(std::shared_ptr<Learner> learner) { adaptation_.add(std::move(learner)); }
  /// Makes the emulated network's ports and links slower from now on; all others run at the topology's speed. One
  /// rank may do it for all. Throws ArgumentError for a rank or link that does not exist, a factor below 1 or not
  /// finite, or without emulation.
  void slow_down(const std::map<Rank, double>& factors, const SlowLinks& links = {});

  /// Looks at the state that operations change, between two of them. A check that an operation calls in its own thread,
  /// such as a signal handler, sees the state before that operation.
  template <typename Look>
  auto between_operations(Look look, const Check& interrupted = {}) {
    if (running_.is_mine()) return look();
    const auto held = running_.take(until_closed(interrupted));
    return look();
  }
  /// How each rank came to the latest operations, oldest first, a row of all ranks each.
  std::vector<Arrival> arrivals(const Check& interrupted = {});
  /// The same of this rank alone, but of every operation: between hosts others hear of few.
  std::vector<Arrival> own_arrivals(const Check& interrupted = {});
  /// As if none had been, since a start-up says nothing about late ranks.
  void forget_arrivals(const Check& interrupted = {});
  /// The kinds of these operations.
  std::vector<OperationSize> operations(const Check& interrupted = {});
  /// The speeds of the ways to and from each rank, from this rank's messages in the latest operations; nothing if the
  /// wire has no ports.
  std::vector<PortWatch::PairShares> pair_shares(const Check& interrupted = {});
  /// The bytes that the wire has carried for the operations so far, by rank; nothing to and from this rank itself.
  std::vector<Payload> payloads(const Check& interrupted = {});
  /// The latest messages with their times, where CommunicatorOptions says so. Waits for no operation.
  std::vector<RecordedTransfer> recorded_transfers() const {
    return connection_.recorder == nullptr ? std::vector<RecordedTransfer>() : connection_.recorder->latest();
  }
  /// In which format the values went that this rank has sent where messages may leave zeros out.
  SentForms sent_forms(const Check& interrupted = {});

 private:
  void check_open() const;
  void execute(const PreparedCall& call, const Check& interrupted);
  void execute_now(const PreparedCall& call, const Check& interrupted);
  std::exception_ptr attempt(const Operation& operation, Note note);
  bool breaks(const std::exception_ptr& error);
  template <typename Condition>
  void await(Condition condition) {
    Patience patience(waiting_for_words(), &waiting_record_);
    while (!condition()) patience.wait(connection_.wire.get(), &watch_);
    patience.renew();
  }
  Waiting waiting_for_words() const;
  template <typename Predicate>
  bool everyone(Predicate predicate) const;
  Executor& executor() const { return *connection_.executor; }
  Roll& roll() const { return *connection_.control.roll; }
  void recover(std::uint64_t number);
  void give_up(Failure failure, const Cause& cause, const std::string& text);
  Cause own_cause(const std::string& text) const;
  void heed_failed_messages(const std::exception_ptr& error);
  void run_in_background(PendingOperation* operation);
  void end(Failure how, const std::string& text);

  const Members members_;
  const CommunicatorOptions options_;
  Connection connection_;
  ProgramCache programs_;

  Turn running_;  ///< of the thread that runs an operation; guards all down to `broken_`
  Tags tags_;
  OperationWatch watch_;
  Adaptation adaptation_;
  WaitingRecord waiting_record_;  ///< while words are waited for
  ArrivalLog arrivals_;  ///< all ranks', where the learners or the roll need them operation by operation
  std::uint64_t first_kept_ = 0;  ///< the first operation whose arrivals are not forgotten
  ArrivalLog own_arrivals_{1};    ///< this rank's, of every operation
  Renew renew_;
  std::uint64_t next_number_ = 0;
  OwnTime own_time_;
  bool has_begun_ = false;     ///< an operation whose buffers are ours until it ends
  std::exception_ptr broken_;  ///< the error of every further call
  std::atomic<bool> is_broken_ = false;
  std::atomic<bool> calls_ = false;  ///< this rank does
  std::atomic<bool> is_called_ = false;
  std::unique_ptr<Messenger> messenger_;  ///< guards itself; null: there are no messages

  mutable std::mutex ending_mutex_;
  Failure ending_ = Failure::none;  ///< how it was closed; this and its text are written before `closing_`
  std::string ending_text_;
  std::atomic<bool> closing_ = false;
  Background background_;  ///< guards itself
};

}  // namespace hemiola
