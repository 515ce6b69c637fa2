#include "hemiola/runtime/communicator/communicator.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

constexpr auto kGlance =
    std::chrono::milliseconds(20);  ///< how often a waiting thread looks for an interrupt

Members members_of(std::shared_ptr<LocalSession> session, std::vector<Rank> ranks) {
  const auto self = std::find(ranks.begin(), ranks.end(), session->rank());
  if (self == ranks.end())
    throw ArgumentError("group: rank " + std::to_string(session->rank()) +
                        " is not among the ranks it asks for");
  const Rank number{self - ranks.begin()};
  return {std::move(session), std::move(ranks), number};
}

}  // namespace

bool PendingOperation::wait_for(double timeout_s) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, std::chrono::duration<double>(timeout_s), [this] { return done_; }))
    return false;
  if (error_) std::rethrow_exception(error_);
  return true;
}

bool PendingOperation::is_done() const {
  std::lock_guard lock(mutex_);
  return done_;
}

void PendingOperation::finish(std::exception_ptr error) {
  std::shared_ptr<const void> released = std::move(operation_.keep_alive);
  {
    std::lock_guard lock(mutex_);
    done_ = true;
    error_ = std::move(error);
  }
  changed_.notify_all();
}

Communicator::Communicator(std::shared_ptr<LocalSession> session, std::vector<Rank> members,
                           const CommunicatorOptions& options)
    : members_(members_of(std::move(session), std::move(members))),
      options_(options),
      connection_(connect(members_, options)),
      programs_(members_.self, connection_.compile),
      engine_(connection_.wire.get(), connection_.engine),
      watch_(&members_, connection_.board.get()),
      arrivals_(members_.count()) {}

Communicator::~Communicator() {
  closing_ = true;
  {
    std::lock_guard lock(queue_mutex_);
    queue_changed_.notify_all();
  }
  if (worker_.joinable()) worker_.join();
}

void Communicator::run(const Operation& operation, const std::function<void()>& interrupted) {
  await_background(interrupted);
  std::lock_guard lock(running_);
  execute(operation, interrupted);
}

std::shared_ptr<PendingOperation> Communicator::start(Operation operation) {
  auto pending = std::make_shared<PendingOperation>();
  pending->operation_ = std::move(operation);
  std::lock_guard lock(queue_mutex_);
  queue_.push_back(pending);
  if (!worker_.joinable()) worker_ = std::thread([this] { work(); });
  queue_changed_.notify_all();
  return pending;
}

void Communicator::await_background(const std::function<void()>& interrupted) {
  std::unique_lock lock(queue_mutex_);
  while (!queue_changed_.wait_for(lock, kGlance, [this] { return queue_.empty() && !working_; })) {
    lock.unlock();
    if (interrupted) interrupted();
    lock.lock();
  }
}

void Communicator::work() {
  const std::function<void()> aborted = [this] {
    if (closing_) throw LostRankError("rank " + std::to_string(rank()) + " has closed its communicator");
  };
  while (true) {
    std::shared_ptr<PendingOperation> next;
    {
      std::unique_lock lock(queue_mutex_);
      working_ = false;
      queue_changed_.notify_all();
      queue_changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
      if (queue_.empty()) return;
      next = std::move(queue_.front());
      queue_.pop_front();
      working_ = true;
    }
    std::exception_ptr error;
    try {
      aborted();
      std::lock_guard lock(running_);
      execute(next->operation_, aborted);
    } catch (...) {
      error = std::current_exception();
    }
    next->finish(error);
  }
}

/// Operations are chosen when they are called, which may be long before their turn.
bool Communicator::is_outdated(const Operation& operation) const {
  return connection_.ports && renew_ && operation.program && operation.key.asked_for == nullptr &&
         operation.planned_for != connection_.ports->version();
}

void Communicator::execute(const Operation& operation, const std::function<void()>& interrupted) {
  if (!is_outdated(operation)) [[likely]]
    return execute_now(operation, interrupted);
  Operation renewed = operation;
  renew_(&renewed);
  execute_now(renewed, interrupted);
}

void Communicator::execute_now(const Operation& operation, const std::function<void()>& interrupted) {
  if (broken_) std::rethrow_exception(broken_);
  std::this_thread::sleep_for(connection_.delay);
  const std::uint64_t number = next_number_++;
  const double timeout_s = operation.timeout_s > 0 ? operation.timeout_s : options_.timeout_s;
  engine_.begin_operation();
  Signature signature = operation.signature;
  if (is_to_find_late_rank(operation)) signature.schedule_digest = operation.late_digest;
  watch_.begin(number, signature, timeout_s, interrupted);
  board().publish(number, signature, operation.complaint);
  try {
    if (!operation.complaint.empty()) {
      recover(number);
    } else if (const auto disagreement = attempt(operation, number)) {
      recover(number);
      engine_.restore();
      throw MismatchError(*disagreement);
    }
    board().complete(number);
  } catch (const MismatchError&) {
    board().complete(number);
    throw;
  } catch (const LostRankError& e) {
    give_up(Failure::lost_rank, e.what());
    throw;
  } catch (const TimeoutError& e) {
    give_up(Failure::timeout, e.what());
    throw;
  } catch (const std::bad_alloc&) {
    give_up(Failure::lost_rank, "rank " + std::to_string(rank()) + " ran out of memory");
    throw;
  } catch (...) {
    give_up(Failure::interrupted, "rank " + std::to_string(rank()) + " was interrupted");
    throw;
  }
  if (!operation.complaint.empty()) throw ArgumentError(operation.complaint);
}

/// Returns what ranks disagree about, if they do.
std::optional<std::string> Communicator::attempt(const Operation& operation, std::uint64_t number) try {
  if (is_to_find_late_rank(operation))
    run_late(operation, number);
  else if (operation.program)
    engine_.run(*operation.program, operation.buffers, operation.arithmetic, &watch_);
  await([this] { return watch_.all_have_arrived(); });
  note_arrivals(operation);
  if (connection_.ports) connection_.ports->end_operation(number, monotonic_ns());
  return std::nullopt;
} catch (const MismatchError& e) {
  return e.what();
}

/// The same on all ranks, because all have noted the same about the operations before.
bool Communicator::is_to_find_late_rank(const Operation& operation) const {
  return operation.late && (!operation.late_forecast || lateness_.pays(operation.bytes));
}

void Communicator::note_arrivals(const Operation& operation) {
  watch_.note_arrivals(&arrivals_);
  if (!operation.late_forecast) return;
  const double lag_s = static_cast<double>(arrivals_.latest_lag_ns()) * 1e-9;
  lateness_.note(operation.bytes, operation.late_forecast->gain(lag_s));
}

template <typename Predicate>
bool Communicator::everyone(Predicate predicate) const {
  for (Rank rank : indices<Rank>(rank_count()))
    if (!predicate(rank)) return false;
  return true;
}

/// After an operation in which ranks disagreed: all of them see that, so all give their wires the same new epoch.
/// First the others must have got what we sent them in the operation before, which a reset would throw away; that
/// also frees the board's entry for the operation after this one.
void Communicator::recover(std::uint64_t number) {
  watch_.stop_comparing();
  if (connection_.ports) connection_.ports->drop_operation();
  if (number > 0)
    await([&] { return everyone([&](Rank rank) { return board().has_completed(rank, number - 1); }); });
  connection_.wire->reset(number + 1);
}

/// The wire first: nobody may go on reading our buffers once they are ours again.
void Communicator::give_up(Failure failure, const std::string& text) {
  connection_.wire->reset(next_number_);
  engine_.restore();
  const std::string later = "this communicator can no longer be used, because of an earlier failure: " + text;
  broken_ = failure == Failure::timeout ? std::make_exception_ptr(TimeoutError(later))
                                        : std::make_exception_ptr(LostRankError(later));
  board().give_up(failure, text);
}

PortWatch::InForce Communicator::ports_in_force() const {
  return connection_.ports ? connection_.ports->in_force() : PortWatch::InForce{};
}

Communicator::Health Communicator::health() {
  std::lock_guard lock(running_);
  if (!connection_.ports) return {false, next_number_, {}};
  return {true, next_number_, connection_.ports->report()};
}

void Communicator::slow_down(const std::map<Rank, double>& factors) {
  if (connection_.emulated == nullptr)
    throw ArgumentError("only an emulated network can be made slower; pass emulate=topology to init");
  Conditions conditions;
  conditions.slow = factors;
  conditions.check(rank_count());
  std::vector<double> slowdown;
  for (Rank rank : indices<Rank>(rank_count())) slowdown.push_back(conditions.slowdown_of(rank));
  connection_.emulated->slow_down(slowdown);
}

bool Communicator::expects_late_rank(std::int64_t bytes) {
  std::lock_guard lock(running_);
  return lateness_.pays(bytes);
}

std::vector<std::int64_t> Communicator::arrival_times_ns() {
  std::lock_guard lock(running_);
  return arrivals_.rows();
}

}  // namespace hemiola
