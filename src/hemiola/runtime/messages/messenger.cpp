// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/messages/messenger.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/yields.hpp"
#include "hemiola/runtime/operation/surrender.hpp"
#include "hemiola/runtime/session/lost_member.hpp"

namespace hemiola {
namespace {

using namespace std::chrono_literals;

/// How often deadlines and losses are looked at.
constexpr auto kInspection = 5ms;
/// The messages of a rank may still come for so long once it is known to be gone: on one host, and between several.
constexpr auto kGrace = 200ms, kGraceBetweenHosts = 1000ms;
constexpr auto kAwake = 0us, kFirstNap = 20us, kLongestNap = 1000us;
constexpr int kLongestSleep_us = 200;  ///< with the lock held, for which others may wait

constexpr const char* kGoOn = ". docs/how-to/failures.md says how the ranks that are left can go on.";

}  // namespace

/// Holds the lock; those who had to wait for it go first next time.
class Messenger::Access {
 public:
  explicit Access(Messenger* of) : of_(of) {
    of_->contenders_.fetch_add(1, std::memory_order_relaxed);
    lock_ = std::unique_lock(of_->mutex_);
    of_->contenders_.fetch_sub(1, std::memory_order_relaxed);
  }
  /// Ended requests release their memory here, since that may need another owner's lock.
  ~Access() {
    const auto released = of_->mailbox_.take_released();
    lock_.unlock();
  }
  Access(const Access&) = delete;

 private:
  Messenger* of_;
  std::unique_lock<std::mutex> lock_;
};

/// A thread that moves messages; without one, the task does.
class Messenger::Driver {
 public:
  explicit Driver(Messenger* of) : of_(of) {
    const Access access(of_);
    ++of_->drivers_;
  }
  ~Driver() {
    const Access access(of_);
    --of_->drivers_;
    if (of_->needs_the_task()) of_->wake_task();
  }
  Driver(const Driver&) = delete;

 private:
  Messenger* of_;
};

Messenger::Messenger(std::unique_ptr<Wire> wire, Owner owner)
    : wire_(std::move(wire)),
      owner_(std::move(owner)),
      grace_(owner_.members->session->courier() != nullptr ? kGraceBetweenHosts : kGrace),
      mailbox_(wire_.get(), owner_.members),
      nap_(kAwake),
      task_(&owner_.members->session->progress, [this] { return work(); }) {}

void Messenger::post(const RequestPtr& request) {
  std::exception_ptr refused;
  {
    const Driver driver(this);
    const Access access(this);
    move();
    refused = broken_;
    if (!refused && request->is_send) refused = abandoned(*request);
    if (!refused) {
      mailbox_.post(request);
      move();
    }
  }
  tell_owner();
  if (refused) std::rethrow_exception(refused);
}

void Messenger::run(const RequestPtr& request, const Check& interrupted) {
  {
    const Driver driver(this);
    post(request);
    try {
      drive(request, Deadline(1e9), interrupted);
    } catch (...) {
      {
        const Access access(this);
        give_up(request, std::make_exception_ptr(LostRankError(named(*request) + " was interrupted")));
      }
      tell_owner();
      throw;
    }
  }
  tell_owner();  // the last driver may find that no thread can take over
  if (request->error) std::rethrow_exception(request->error);
}

bool Messenger::wait_for(const RequestPtr& request, double timeout_s, const Check& interrupted) {
  const bool is_over = drive(request, Deadline(timeout_s), interrupted);
  tell_owner();
  if (!is_over) return false;
  if (request->error) std::rethrow_exception(request->error);
  return true;
}

/// Pauses, then yields, then sleeps, as the wire wants to be waited for.
bool Messenger::drive(const RequestPtr& request, const Deadline& deadline, const Check& interrupted) {
  if (request->is_done) return true;
  const Driver driver(this);
  auto next_check = Clock::now() + kInspection;
  for (int idle_rounds = 0; !request->is_done;) {
    idle_rounds = step() ? 0 : idle_rounds + 1;
    tell_owner();
    if (request->is_done) break;
    if (deadline.passed()) return false;
    if (idle_rounds > 0) rest(idle_rounds);
    if (Clock::now() < next_check) continue;
    next_check = Clock::now() + kInspection;
    if (interrupted) interrupted();
  }
  return true;
}

bool Messenger::step() {
  const Access access(this);
  return move();
}

/// Moves messages, and looks now and then at messages that cannot move any more.
bool Messenger::move() {
  if (broken_) return false;
  return breaking_down([this] {
    const bool moved = mailbox_.progress();
    if (Clock::now() >= next_inspection_) inspect();
    return moved;
  });
}

/// Any error ends all messages.
template <typename Call>
bool Messenger::breaking_down(const Call& call) {
  try {
    return call();
  } catch (const BadMessageError& e) {
    break_down(std::make_exception_ptr(owner_.members->named(e)));
  } catch (...) {
    break_down(std::current_exception());
  }
  return true;
}

void Messenger::rest(int idle_rounds) {
  thread_local Yields yields;  // the driver changes, and each thread has a share of the cores of its own
  const Waiting& waiting = wire_->traits().waiting;
  yields.share(waiting.core_use);           // of this wire; that of the last time may be gone
  if (idle_rounds == 1) yields.end_wait();  // something has moved since the last time
  if (idle_rounds <= waiting.spins) return;
  const auto now = Clock::now();
  const bool is_in_the_way = contenders_.load(std::memory_order_relaxed) > 0;
  if (is_in_the_way || (idle_rounds <= waiting.spins + waiting.yields && yields.pay(now))) {
    yields.yield(now);
    return;
  }
  yields.sleep();
  const Access access(this);
  if (broken_) return;
  breaking_down([&] { return wire_->wait(std::min(waiting.sleep_us, kLongestSleep_us)), true; });
}

/// Ended requests release their memory at the end. The communicator may go with it, and this with the communicator.
bool Messenger::work() {
  tell_owner();
  {
    std::unique_lock lock(mutex_);
    if (nap_ > kAwake && needs_the_task()) changed_.wait_for(lock, nap_);
  }
  const Access access(this);
  const bool moved = needs_the_task() && move();
  const bool has_more = needs_the_task() || is_to_be_told_;
  if (!has_more)
    nap_ = kAwake;
  else
    nap_ = moved || nap_ == kAwake ? kFirstNap : std::min<std::chrono::microseconds>(2 * nap_, kLongestNap);
  return has_more;
}

bool Messenger::needs_the_task() const {
  return drivers_ == 0 && !is_closing_ && has_work();
}

/// Where nobody can be had to move messages, they fail.
void Messenger::wake_task() {
  changed_.notify_all();
  try {
    task_.wake();
  } catch (...) {
    break_down(std::current_exception());
  }
}

/// Messages on their way to a lost rank will never arrive.
bool Messenger::has_work() const {
  if (broken_) return false;
  if (!mailbox_.outstanding().empty()) return true;
  for (Rank rank : indices<Rank>(owner_.members->count()))
    if (!gone_.contains(rank) && mailbox_.is_sending_to(rank)) return true;
  return false;
}

void Messenger::inspect() {
  next_inspection_ = Clock::now() + kInspection;
  if (*owner_.is_broken) return break_down(*owner_.why);
  if (const auto foreign = wire_->mismatch())
    throw BadMessageError(foreign->peer, "a message of a collective operation where messages with tags go");
  note_losses();
  for (const RequestPtr& request : mailbox_.outstanding())
    if (const std::exception_ptr error = judge(*request)) give_up(request, error);
}

void Messenger::note_losses() {
  const Members& members = *owner_.members;
  const std::vector<LostRank> lost = members.session->lost();
  for (const Pulse::GivenUp& given_up : owner_.pulse->given_up()) {
    if (given_up.failure != Failure::closed) throw_surrender(given_up, members);
    note(given_up.rank, given_up.cause, true);
  }
  for (const LostRank& each : lost) {
    if (const auto rank = members.number_of(each.rank)) note(*rank, each.cause(), false);
  }
  for (const LostRank& each : owner_.pulse->lost())
    note(each.rank, members.cause(each.rank, "has died"), false);
  for (const LostRank& each : wire_->lost())
    note(each.rank, members.cause(each.rank, "is lost: " + each.reason), false);
}

void Messenger::note(Rank rank, const Cause& cause, bool has_closed) {
  if (rank != owner_.members->self) gone_.try_emplace(rank, Gone{cause, has_closed, Clock::now()});
}

bool Messenger::is_gone(Rank rank) const {
  const auto found = gone_.find(rank);
  return found != gone_.end() && Clock::now() - found->second.since > grace_;
}

std::exception_ptr Messenger::judge(const MessageRequest& request) const {
  if (const std::exception_ptr error = abandoned(request)) return error;
  return request.deadline.passed() ? overdue(request) : nullptr;
}

/// From anybody nothing can come once all are gone, or somebody who has not left in good order: that one may have been
/// the one to send.
std::exception_ptr Messenger::abandoned(const MessageRequest& request) const {
  const Members& members = *owner_.members;
  const bool is_known = request.peer || request.stage != MessageRequest::Stage::waiting;
  const auto of = [&](Rank rank) {
    const Cause& cause = gone_.at(rank).cause;
    const std::string text = members.described(cause) + " before " + named(request) + " was over" + kGoOn;
    return std::make_exception_ptr(
        LostMemberError(text, members.number_of(cause.rank).value_or(Cause::kNobody), cause));
  };
  if (is_known) {
    const Rank other = request.peer ? *request.peer : request.source;
    return is_gone(other) ? of(other) : nullptr;
  }
  int left = members.count() - 1;
  for (const auto& [rank, gone] : gone_) {
    if (!is_gone(rank)) continue;
    if (!gone.has_closed || --left == 0) return of(rank);
  }
  return nullptr;
}

std::string Messenger::named(const MessageRequest& request) const {
  const Members& members = *owner_.members;
  const std::string peer = request.peer ? members.name(*request.peer) : "any rank";
  return std::string(request.is_send ? "send to " : "recv from ") + peer + " with tag " +
         std::to_string(request.tag) + " on " + members.name(members.self);
}

std::exception_ptr Messenger::overdue(const MessageRequest& request) const {
  char time[32];
  std::snprintf(time, sizeof time, "%.3g", request.deadline.seconds());
  std::string reason;
  if (request.stage == MessageRequest::Stage::moving) {
    reason = "its data has begun to move, and has stopped; this communicator can no longer be used";
  } else if (request.is_send) {
    reason = owner_.members->name(*request.peer) + " has not received it; a message of more than " +
             std::to_string(Mailbox::kEagerBytes) + " bytes waits for its receiver";
  } else {
    reason = "nothing has come";
    if (request.peer && *request.peer != owner_.members->self) {
      std::string tags;
      for (const std::int64_t tag : mailbox_.unreceived_tags(*request.peer))
        tags += (tags.empty() ? "" : ", ") + std::to_string(tag);
      if (!tags.empty()) reason += "; messages with other tags have: " + tags;
    }
  }
  return std::make_exception_ptr(
      TimeoutError(named(request) + " did not finish within " + time + " s: " + reason + "."));
}

/// Where its data is moving, the memory must not be let go of before the wire has.
void Messenger::give_up(const RequestPtr& request, const std::exception_ptr& error) {
  if (request->is_done) return;
  if (mailbox_.withdraw(request))
    mailbox_.end(request, error);
  else
    break_down(error);
}

/// The wire first: nobody may read or write the callers' memory once it is theirs again.
void Messenger::break_down(const std::exception_ptr& error) {
  if (broken_) return;
  broken_ = error;
  is_to_be_told_ = true;
  wire_->reset(1);
  mailbox_.end_all(error);
}

void Messenger::tell_owner() {
  std::exception_ptr error;
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_to_be_told_, false)) return;
    error = broken_;
  }
  owner_.break_off(error);
}

void Messenger::close(double patience_s, const std::string& why) {
  {
    const Access access(this);
    is_closing_ = true;
    changed_.notify_all();
  }
  task_.end();
  const Deadline patience(patience_s);
  int idle_rounds = 0;
  while (true) {
    {
      const Access access(this);
      const auto error = std::make_exception_ptr(LostRankError(why + " before this message was over"));
      for (const RequestPtr& request : mailbox_.outstanding()) give_up(request, error);
      if (!has_work() || patience.passed()) return;
      idle_rounds = move() ? 0 : idle_rounds + 1;
    }
    if (idle_rounds > 0) rest(idle_rounds);
  }
}

}  // namespace hemiola
