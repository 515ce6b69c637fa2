// What a user holds, without Python: ranks that can run collectives together. Operations run one after the other,
// in the caller's thread or in one of the communicator's own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "hemiola/runtime/arrival/arrival_log.hpp"
#include "hemiola/runtime/arrival/late_watch.hpp"
#include "hemiola/runtime/communicator/call_key.hpp"
#include "hemiola/runtime/communicator/connection.hpp"
#include "hemiola/runtime/communicator/late_programs.hpp"
#include "hemiola/runtime/communicator/operation_watch.hpp"
#include "hemiola/runtime/communicator/program_cache.hpp"
#include "hemiola/runtime/engine/engine.hpp"
#include "hemiola/runtime/rendezvous/local_session.hpp"

namespace hemiola {

/// One call of one rank, checked and prepared.
struct Operation {
  Signature signature;
  std::string complaint;  ///< not empty: the caller's mistake, about which the other ranks must learn
  std::shared_ptr<const Program> program;  ///< null: nothing to move
  std::shared_ptr<LatePrograms> late;      ///< what to do instead where one rank is late
  /// Null: do so whenever there is `late`. Otherwise where the latest operations of this size say that it pays.
  std::shared_ptr<const LateForecast> late_forecast;
  std::uint64_t late_digest = 0;  ///< what to sign then in place of the schedule's
  std::int64_t bytes = 0;         ///< of the whole buffer
  CallKey key;                    ///< what the program is for
  std::uint64_t planned_for = 0;  ///< the version of the ports' health for which it was chosen
  Buffers buffers;
  Arithmetic arithmetic;
  double timeout_s = 0;
  std::shared_ptr<const void> keep_alive;  ///< what owns the buffers, for operations in the background
};

/// An operation that runs in the background.
class PendingOperation {
 public:
  /// True once it is over; rethrows its error. `timeout_s` bounds the waiting, not the operation.
  bool wait_for(double timeout_s);
  bool is_done() const;

 private:
  friend class Communicator;
  void finish(std::exception_ptr error);

  Operation operation_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::exception_ptr error_;
};

class Communicator {
 public:
  /// Collective over the members (ranks of the session, sorted, this one among them).
  Communicator(std::shared_ptr<LocalSession> session, std::vector<Rank> members,
               const CommunicatorOptions& options);
  /// Aborts what still runs in the background.
  ~Communicator();
  Communicator(const Communicator&) = delete;

  Rank rank() const { return members_.self; }
  int rank_count() const { return members_.count(); }
  const Members& members() const { return members_; }
  const CommunicatorOptions& options() const { return options_; }
  ProgramCache& programs() { return programs_; }
  const CompileOptions& compile_options() const { return connection_.compile; }

  /// Blocks until the operation is over, after all that were started before it. `interrupted` is called now and
  /// then and throws to abort. Throws MismatchError (the communicator stays usable), LostRankError or TimeoutError
  /// (it does not); inputs are as they were.
  void run(const Operation& operation, const std::function<void()>& interrupted = {});
  /// Runs the operation in the background, after all that were started before it.
  std::shared_ptr<PendingOperation> start(Operation operation);

  /// What to do with an operation whose schedule was chosen for other conditions than those in force when its turn
  /// comes: choose again, for those. Called in the thread that runs the operation; all ranks do the same at the
  /// same operation.
  void when_outdated(std::function<void(Operation*)> renew) { renew_ = std::move(renew); }
  /// Changes whenever `ports_in_force` does.
  std::uint64_t ports_version() const { return connection_.ports ? connection_.ports->version() : 0; }
  /// The slow ports that plans must take into account at this moment. All ranks say the same between two operations.
  PortWatch::InForce ports_in_force() const;

  /// What has been noticed about the ports; nothing, where the wire has none.
  struct Health {
    bool is_watching = false;
    std::uint64_t operation_count = 0;
    PortWatch::Report ports;
  };
  Health health();
  /// Makes the emulated network's ports slower from now on, by rank; all others run at the topology's speed. One
  /// rank may do it for all. Throws ArgumentError for a rank that does not exist, a factor below 1 or not finite,
  /// or without emulation.
  void slow_down(const std::map<Rank, double>& factors);

  /// Whether an all-reduce of so many bytes that leaves the choice to us would look for a late rank now.
  bool expects_late_rank(std::int64_t bytes);
  /// When each rank arrived at the latest operations, oldest first, in nanoseconds of CLOCK_MONOTONIC.
  std::vector<std::int64_t> arrival_times_ns();

 private:
  void execute(const Operation& operation, const std::function<void()>& interrupted);
  bool is_to_find_late_rank(const Operation& operation) const;
  std::optional<std::string> attempt(const Operation& operation, std::uint64_t number);
  void note_arrivals(const Operation& operation);
  void run_late(const Operation& operation, std::uint64_t number);
  template <typename Cell, typename Wait>
  void run_late(const Operation& operation, std::uint64_t number, Cell& cell, Wait wait);
  void execute_now(const Operation& operation, const std::function<void()>& interrupted);
  bool is_outdated(const Operation& operation) const;
  template <typename Condition>
  void await(Condition condition) {
    Patience patience(connection_.engine.patience);
    while (!condition()) patience.wait(connection_.wire.get(), &watch_);
  }
  template <typename Predicate>
  bool everyone(Predicate predicate) const;
  ArrivalBoard& board() const { return *connection_.board; }
  void recover(std::uint64_t number);
  void give_up(Failure failure, const std::string& text);
  void await_background(const std::function<void()>& interrupted);
  void work();

  const Members members_;
  const CommunicatorOptions options_;
  Connection connection_;
  ProgramCache programs_;

  std::mutex running_;  ///< held while an operation runs; guards all down to `broken_`
  Engine engine_;
  OperationWatch watch_;
  ArrivalLog arrivals_;
  LateWatch lateness_;
  std::function<void(Operation*)> renew_;
  std::uint64_t next_number_ = 0;
  std::exception_ptr broken_;  ///< what every further call raises

  std::mutex queue_mutex_;  ///< guards the rest
  std::condition_variable queue_changed_;
  std::deque<std::shared_ptr<PendingOperation>> queue_;
  bool working_ = false;  ///< on an operation that is no longer in the queue
  std::atomic<bool> closing_ = false;
  std::thread worker_;
};

}  // namespace hemiola
