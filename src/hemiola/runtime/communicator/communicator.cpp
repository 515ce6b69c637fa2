// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/communicator/communicator.hpp"

#include <algorithm>
#include <new>
#include <thread>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/short_waits.hpp"
#include "hemiola/runtime/adaptation/density_watch.hpp"
#include "hemiola/runtime/adaptation/late_habits.hpp"
#include "hemiola/runtime/adaptation/late_watch.hpp"
#include "hemiola/runtime/operation/surrender.hpp"
#include "hemiola/topology/conditions.hpp"

namespace hemiola {
namespace {

constexpr int kFirstNap_us = 10, kLongestNap_us = 200;

Members members_of(std::shared_ptr<Session> session, std::vector<Rank> ranks) {
  Members members{std::move(session), std::move(ranks), Rank{0}};
  const std::optional<Rank> self = members.number_of(members.session->rank());
  if (!self)
    throw ArgumentError("group: rank " + std::to_string(members.session->rank()) +
                        " is not among the ranks it asks for");
  members.self = *self;
  return members;
}

/// This rank has closed or aborted its communicator while an operation ran or waited.
struct ClosedError : LostRankError {
  ClosedError(Failure how_, std::string told_)
      : LostRankError(told_ +
                      " during this call, in another thread or in a signal handler; inputs are as they were"),
        how(how_),
        told(std::move(told_)) {}

  Failure how;
  std::string told;  ///< to the others
};

std::string closed_text(const Members& members) {
  return members.name(members.self) + " has closed its communicator";
}

/// Why a communicator can no longer be used.
struct Breakage {
  Failure failure;
  Cause cause;
  std::string text;  ///< of this rank's own later errors
};

/// The text without the name of this rank, which a cause says anyway.
std::string without_name(const Members& members, const std::string& text) {
  const std::string name = members.name(members.self) + " ";
  return text.starts_with(name) ? text.substr(name.size()) : "has given up: " + text;
}

/// The effect of an operation's exception on the communicator: none if all ranks have seen that they disagree,
/// otherwise its end.
std::optional<Breakage> classify(const std::exception_ptr& error, const Members& members) {
  const auto own = [&](Failure failure, const std::string& text) {
    return Breakage{failure, members.cause(members.self, without_name(members, text)), text};
  };
  try {
    std::rethrow_exception(error);
  } catch (const MismatchError&) {
    return std::nullopt;
  } catch (const ClosedError& e) {
    return own(e.how, e.told);
  } catch (const LostMemberError& e) {
    return Breakage{Failure::lost_rank, e.cause, e.what()};
  } catch (const AbsentMemberError& e) {
    return Breakage{Failure::timeout, e.cause, e.what()};
  } catch (const LostRankError& e) {
    return own(Failure::lost_rank, e.what());
  } catch (const TimeoutError& e) {
    Breakage breakage = own(Failure::timeout, e.what());
    breakage.cause.is_absence = true;
    return breakage;
  } catch (const BadMessageError& e) {
    const BadMessageError named = members.named(e);
    return Breakage{Failure::lost_rank, named.cause, named.what()};
  } catch (const FormatError& e) {
    return own(Failure::interrupted, e.what());
  } catch (const std::bad_alloc&) {
    return own(Failure::lost_rank, members.name(members.self) + " ran out of memory");
  } catch (...) {
    return own(Failure::interrupted, members.name(members.self) + " was interrupted");
  }
}

}  // namespace

Communicator::Communicator(std::shared_ptr<Session> session, std::vector<Rank> members,
                           const CommunicatorOptions& options, const Check& interrupted)
    : members_(members_of(std::move(session), std::move(members))),
      options_(options),
      connection_(connect(members_, options, interrupted)),
      programs_(members_.self, connection_.compile),
      watch_(&members_, connection_.control.roll.get(), connection_.control.pulse.get(),
             connection_.wire.get()),
      arrivals_(members_.count()),
      own_time_(&members_.session->in_operations_ns),
      background_(&members_.session->progress,
                  [this](PendingOperation* operation) { run_in_background(operation); }) {
  members_.session->take_cause_back();  // this rank goes on
  if (connection_.ports) learn(connection_.ports);
  learn(std::make_shared<LateWatch>());
  learn(std::make_shared<LateHabits>());
  learn(std::make_shared<DensityWatch>());
  if (!connection_.message_wire) return;
  const Messenger::Owner owner{&members_, connection_.control.pulse.get(), &is_broken_, &broken_,
                               [this](const std::exception_ptr& error) { heed_failed_messages(error); }};
  messenger_ = std::make_unique<Messenger>(std::move(connection_.message_wire), owner);
}

Communicator::~Communicator() {
  close();
  background_.end(std::make_exception_ptr(ClosedError(ending_, ending_text_)));
  if (messenger_) messenger_->close(options_.timeout_s, ending_text_);
  connection_.control.pulse->give_up(Failure::closed, own_cause(closed_text(members_)));
}

void Communicator::close() {
  end(Failure::closed, closed_text(members_));
}

/// The thread that runs an operation gives the communicator up as it ends. If none runs one, this thread does. A signal
/// handler's cannot wait for the call that it interrupts, which does it once the handler has returned.
void Communicator::abort(const std::string& reason) {
  end(Failure::aborted,
      members_.name(rank()) + " has aborted this communicator" + (reason.empty() ? "" : ": " + reason));
  if (running_.is_mine()) return;
  const auto held = running_.take();
  if (!broken_) give_up(ending_, own_cause(ending_text_), ending_text_);
}

/// A rank that closes its communicator because it has given up another one states the cause.
Cause Communicator::own_cause(const std::string& text) const {
  const std::optional<Cause> told = members_.session->told_cause();
  return told ? *told : members_.cause(rank(), without_name(members_, text));
}

std::string Communicator::ending_text() const {
  const std::lock_guard lock(ending_mutex_);
  return ending_text_;
}

void Communicator::end(Failure how, const std::string& text) {
  const std::lock_guard lock(ending_mutex_);
  if (!closing_) {
    ending_ = how;
    ending_text_ = text;
  }
  closing_ = true;
}

void Communicator::check_open() const {
  if (closing_) throw ClosedError(ending_, ending_text_);
}

Communicator::Check Communicator::until_closed(const Check& interrupted) {
  return [this, &interrupted] {
    check_open();
    if (!interrupted) return;
    interrupted();
    check_open();  // that may have closed it
  };
}

void Communicator::run(const PreparedCall& call, const Check& interrupted) {
  const Check check = until_closed(interrupted);
  background_.await_all(check);
  const auto held = running_.take(check);
  watch_.run_beside(nullptr);
  execute(call, check);
}

std::shared_ptr<PendingOperation> Communicator::start(PreparedCall call) {
  check_open();
  auto pending = std::make_shared<PendingOperation>(std::move(call), background_.callers());
  background_.start(pending);
  return pending;
}

void Communicator::run_in_background(PendingOperation* operation) {
  const Check aborted = [this] { check_open(); };
  const auto held = running_.take(aborted);
  aborted();
  operation->begin();
  watch_.run_beside(background_.callers().get());
  execute(operation->call(), aborted);
}

/// Operations are prepared when they are called, which may be long before their turn.
void Communicator::execute(const PreparedCall& call, const Check& interrupted) {
  if (broken_) std::rethrow_exception(broken_);
  if (is_current(call)) [[likely]]
    return execute_now(call, interrupted);
  KeptThroughShortWaits::end();
  PreparedCall renewed;
  try {
    renewed = renew_(call, interrupted);
  } catch (...) {
    breaks(std::current_exception());
    throw;
  }
  execute_now(renewed, interrupted);
}

void Communicator::execute_now(const PreparedCall& call, const Check& interrupted) {
  if (const auto delay = connection_.wire->traits().arrival_delay; delay.count() > 0) {
    KeptThroughShortWaits::end();
    std::this_thread::sleep_for(delay);
  }
  const std::uint64_t number = next_number_++;
  const Signature& signature = call.operation.signature;
  executor().begin_operation();
  has_begun_ = true;
  const std::int64_t now_ns = members_.now_ns();
  const double timeout_s = call.timeout_s > 0 ? call.timeout_s : options_.timeout_s;
  watch_.begin(number, signature, timeout_s, interrupted, now_ns);
  connection_.wire->begin_operation(tags_.of(number, signature));
  const Arrival arrival{now_ns, own_time_.enter(now_ns)};
  own_arrivals_.next_row()[0] = arrival;
  own_arrivals_.commit({signature.kind, signature.byte_count()});
  const bool calls = calls_.load(std::memory_order_relaxed) || members_.session->has_guests();
  if (calls) connection_.wire->spread(Hint::call);
  roll().publish(number, {signature, call.complaint, arrival, call.operation.wants_arrivals(), calls});
  try {
    if (!call.complaint.empty()) {
      recover(number);
    } else if (const auto disagreement = attempt(call.operation, {number, signature, now_ns, &watch_})) {
      recover(number);
      executor().restore();
      std::rethrow_exception(disagreement);
    } else {
      is_called_.store(watch_.is_called(), std::memory_order_relaxed);
    }
    has_begun_ = false;
    roll().complete(number);
    members_.session->take_cause_back();
    own_time_.leave(members_.now_ns());
  } catch (...) {
    if (!breaks(std::current_exception())) roll().complete(number);
    has_begun_ = false;
    own_time_.leave(members_.now_ns());
    throw;
  }
  if (!call.complaint.empty()) throw ArgumentError(call.complaint);
}

/// Returns the error about the ranks' disagreement, if there is one.
std::exception_ptr Communicator::attempt(const Operation& operation, Note note) try {
  watch_.heed_aborts();
  note.forecast = operation.forecast.get();
  if (operation.outlook) note.outlook = &*operation.outlook;
  note.sends_all = operation.sends_all;
  const Stage stage{note.number, rank(), rank_count(), &executor(), connection_.control.late.get(), &watch_};
  operation.execute(stage, &note);
  watch_.conclude(operation.wants_arrivals());
  await([this] { return watch_.all_have_arrived(); });
  const bool notes_arrivals = operation.wants_arrivals() || !roll().keeps_arrivals();
  if (notes_arrivals && watch_.note_arrivals(&arrivals_)) note.arrivals = &arrivals_;
  adaptation_.note(note);
  return nullptr;
} catch (const MismatchError&) {
  return std::current_exception();
} catch (const BadMessageError& e) {
  throw members_.named(e);
}

/// Gives the communicator up if an error means that.
bool Communicator::breaks(const std::exception_ptr& error) {
  const auto breakage = classify(error, members_);
  if (breakage && !broken_) give_up(breakage->failure, breakage->cause, breakage->text);
  return breakage.has_value();
}

void Communicator::break_off(const std::exception_ptr& error) {
  const auto held = running_.take();
  if (broken_) std::rethrow_exception(broken_);
  breaks(error);
}

Messenger& Communicator::messages() {
  if (messenger_) return *messenger_;
  throw ArgumentError(
      "send and recv: an emulated network carries collectives only, since its clock waits for every rank "
      "that a message "
      "has reached; leave out emulate to exchange messages");
}

void Communicator::heed_failed_messages(const std::exception_ptr& error) {
  const auto held = running_.take();
  breaks(error);
}

void Communicator::expect(Expected* expected) {
  for (const Pulse::GivenUp& given_up : connection_.control.pulse->given_up()) {
    const Rank in_session = members_.ranks[static_cast<std::size_t>(given_up.rank)];
    if (std::ranges::find(expected->ranks, in_session) == expected->ranks.end()) continue;
    if (given_up.failure == Failure::closed) {
      const bool may_be_explained = !expected->closed.has_lasted(kSurrenderGrace_ns, members_.now_ns());
      if (may_be_explained && members_.session->courier() != nullptr) continue;
      throw_surrender(given_up, members_);
    }
    if (is_broken_) continue;
    // For any reason it gave up: it is not to be had for a group.
    const std::string text =
        members_.name(given_up.rank) + " cannot be had for a group: " + members_.described(given_up.cause);
    const LostMemberError error(text, members_.number_of(given_up.cause.rank).value_or(Cause::kNobody),
                                given_up.cause);
    if (!running_.is_mine()) break_off(std::make_exception_ptr(error));
    throw error;
  }
}

/// Words come by other ways than the wire's, which does not wake for them. Most come soon, those of a barrier among them.
Waiting Communicator::waiting_for_words() const {
  Waiting waiting = connection_.wire->traits().waiting;
  waiting.first_sleep_us = kFirstNap_us;
  waiting.sleep_us = std::min(waiting.sleep_us, kLongestNap_us);
  return waiting;
}

template <typename Predicate>
bool Communicator::everyone(Predicate predicate) const {
  for (Rank rank : indices<Rank>(rank_count()))
    if (!predicate(rank)) return false;
  return true;
}

/// After an operation in which ranks disagreed: all of them see that, so all give their wires the same new epoch. First
/// the others must have got our messages of the operation before, which a reset would throw away; that also frees the
/// roll's entry for the operation after this one.
void Communicator::recover(std::uint64_t number) {
  watch_.stop_comparing();
  roll().call(number);
  if (connection_.ports) connection_.ports->drop_operation();
  if (number > 0)
    await([&] { return everyone([&](Rank rank) { return roll().has_completed(rank, number - 1); }); });
  connection_.wire->reset(number + 1);
}

/// The wire first: nobody may go on reading our buffers once they are ours again. Between two operations there is nothing
/// to restore: the buffers of the one before hold its result, or are gone.
void Communicator::give_up(Failure failure, const Cause& cause, const std::string& text) {
  connection_.wire->reset(next_number_);
  if (has_begun_) executor().restore();
  const std::string later = "this communicator can no longer be used, because of an earlier failure: " + text;
  broken_ = cause.is_absence ? std::make_exception_ptr(AbsentMemberError(later, cause))
                             : std::make_exception_ptr(LostMemberError(
                                   later, members_.number_of(cause.rank).value_or(Cause::kNobody), cause));
  is_broken_ = true;
  if (failure != Failure::closed && failure != Failure::aborted) members_.session->tell_cause(cause);
  connection_.control.pulse->give_up(failure, cause);
}

bool Communicator::watch_ports(RankPorts ports, const Check& interrupted) {
  const Deadline deadline(options_.timeout_s, interrupted);
  return between_operations(
      [&] {
        if (!hemiola::watch_ports(members_, std::move(ports), deadline, &connection_)) return false;
        learn(connection_.ports);
        return true;
      },
      interrupted);
}

void Communicator::adopt_ports(const std::map<Rank, double>& measured, const Check& interrupted) {
  between_operations(
      [&] {
        if (connection_.ports && connection_.ports->adopt(measured, next_number_, members_.now_ns()))
          adaptation_.begin_epoch();
      },
      interrupted);
}

bool Communicator::expects_late_rank(std::int64_t bytes, const Check& interrupted) {
  const Signature call{.kind = OperationKind::all_reduce, .element_count = bytes};
  return between_operations(
      [&] {
        const Findings found = adaptation_.findings(call);
        return found.seeks_late || found.late_saves;
      },
      interrupted);
}

Communicator::Health Communicator::health(const Check& interrupted) {
  return between_operations(
      [this]() -> Health {
        const auto complaints = members_.session->complaints();
        if (!connection_.ports) return {false, next_number_, {}, complaints};
        return {true, next_number_, connection_.ports->report(), complaints};
      },
      interrupted);
}

void Communicator::slow_down(const std::map<Rank, double>& factors, const SlowLinks& links) {
  Conditions conditions;
  conditions.slow = factors;
  conditions.check(rank_count());
  NetworkSlowdown slowdown{.ports = {}, .links = links};
  for (Rank rank : indices<Rank>(rank_count())) slowdown.ports.push_back(conditions.slowdown_of(rank));
  EmulatedClock* const clock = connection_.wire->clock();
  if (clock == nullptr)
    throw ArgumentError("only an emulated network can be made slower; pass emulate=topology to init");
  clock->slow_down(slowdown);
}

std::vector<Arrival> Communicator::arrivals(const Check& interrupted) {
  return between_operations(
      [this] {
        const std::uint64_t end = next_number_ - (has_begun_ ? 1 : 0);  // not the one that looks from within
        return roll().keeps_arrivals() ? roll().arrivals(first_kept_, end) : arrivals_.rows();
      },
      interrupted);
}

void Communicator::forget_arrivals(const Check& interrupted) {
  between_operations(
      [this] {
        first_kept_ = next_number_;
        arrivals_.clear();
        own_arrivals_.clear();
      },
      interrupted);
}

std::vector<Arrival> Communicator::own_arrivals(const Check& interrupted) {
  return between_operations([this] { return own_arrivals_.rows(); }, interrupted);
}

std::vector<OperationSize> Communicator::operations(const Check& interrupted) {
  return between_operations([this] { return own_arrivals_.sizes(); }, interrupted);
}

std::vector<PortWatch::PairShares> Communicator::pair_shares(const Check& interrupted) {
  return between_operations(
      [this] {
        return connection_.ports ? connection_.ports->pair_shares() : std::vector<PortWatch::PairShares>{};
      },
      interrupted);
}

std::vector<Payload> Communicator::payloads(const Check& interrupted) {
  return between_operations(
      [this] {
        std::vector<Payload> payloads(static_cast<std::size_t>(rank_count()));
        for (Rank peer : indices<Rank>(rank_count()))
          if (peer != rank()) payloads[static_cast<std::size_t>(peer)] = connection_.wire->payload(peer);
        return payloads;
      },
      interrupted);
}

SentForms Communicator::sent_forms(const Check& interrupted) {
  return between_operations([this] { return connection_.executor->sent_forms(); }, interrupted);
}

}  // namespace hemiola
