// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/operation/operation_watch.hpp"

#include <algorithm>

#include "hemiola/base/error.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/runtime/operation/agreement.hpp"
#include "hemiola/runtime/operation/silence.hpp"
#include "hemiola/runtime/operation/surrender.hpp"

namespace hemiola {

namespace {

/// Advice for a survivor. The page says more.
constexpr const char* kGoOn =
    ". Inputs are as they were; this communicator can no longer be used. "
    "The ranks that are left can go on in comm.shrink(): docs/how-to/failures.md";

/// An operation may take so long before its ranks ask each other for their signatures.
constexpr std::int64_t kPatience_ns = 50'000'000;

/// How long a lost connection may be unexplained.
constexpr std::int64_t kGrace_ns = 2'000'000'000;

void consider(const Cause& cause, std::optional<Cause>* first) {
  if (!*first || cause.precedes(**first)) *first = cause;
}

}  // namespace

void OperationWatch::begin(std::uint64_t number, const Signature& signature, double timeout_s,
                           const std::function<void()>& interrupted, std::int64_t now_ns) {
  number_ = number;
  signature_ = signature;
  timeout_s_ = timeout_s;
  begin_ns_ = now_ns;
  interrupted_ = &interrupted;
  compares_ = true;
  has_called_ = false;
  wire_lost_ = given_up_after_ = {};
  unseen_.clear();
  for (Rank rank : indices<Rank>(members_->count()))
    if (rank != members_->self) unseen_.push_back(rank);
}

void OperationWatch::heed_aborts() const {
  for (const Pulse::GivenUp& given_up : pulse_->given_up())
    if (given_up.failure == Failure::aborted) throw_surrender(given_up, *members_, operation() + ": ");
}

bool OperationWatch::admits(Rank peer) {
  if (!roll_->has_arrived(peer, number_)) return wire_->traits().carries_signatures;
  check_agreement(number_, *members_, peer, roll_->entry(peer, number_), signature_);
  std::erase(unseen_, peer);
  return true;
}

bool OperationWatch::all_have_arrived() {
  while (!unseen_.empty() && roll_->has_arrived(unseen_.back(), number_)) admits(unseen_.back());
  return unseen_.empty();
}

void OperationWatch::conclude(bool awaits_words) {
  if (unseen_.empty() || !wire_->traits().carries_signatures || awaits_words) return;
  if (messages_tell())
    unseen_.clear();
  else
    roll_->vote(number_);
}

/// Whether the end of this rank's part tells it that all have come and agree, and what they call for.
bool OperationWatch::messages_tell() const {
  const WireTraits& traits = wire_->traits();
  return traits.carries_signatures && traits.carries_hints &&
         signature_.everybody_depends_on_everybody(members_->count());
}

bool OperationWatch::is_called() const {
  return messages_tell() ? wire_->has(Hint::call) : roll_->is_called(number_);
}

bool OperationWatch::note_arrivals(ArrivalLog* log) const {
  const auto row = log->next_row();
  for (std::size_t rank = 0; rank < row.size(); ++rank) {
    if (!roll_->has_arrived(Rank{rank}, number_)) return false;
    const Roll::Entry entry = roll_->entry(Rank{rank}, number_);
    if (entry.arrival.at_ns == Arrival::kUnknownTime) return false;
    row[rank] = entry.arrival;
  }
  log->commit({signature_.kind, signature_.byte_count()});
  return true;
}

std::string OperationWatch::operation() const {
  return std::string(name_of(signature_.kind)) + " (operation " + std::to_string(number_) + ") on " +
         members_->name(members_->self);
}

std::vector<Rank> OperationWatch::absent_ranks() const {
  std::vector<Rank> absent;
  for (Rank rank : unseen_)
    if (!roll_->has_arrived(rank, number_)) absent.push_back(rank);
  return absent;
}

std::string OperationWatch::names_of(const std::vector<Rank>& ranks) const {
  std::string names;
  for (Rank rank : ranks) names += (names.empty() ? "" : ", ") + members_->name(rank);
  return names;
}

std::int64_t OperationWatch::last_sign_ns(Rank rank) const {
  return std::max(roll_->entry(rank, number_).arrival.at_ns, pulse_->last_sign_ns(rank));
}

/// Those that have arrived but show no sign of life, neither progress to the end nor waiting.
std::vector<Rank> OperationWatch::stopped_ranks() const {
  std::vector<Rank> stopped;
  for (Rank rank : indices<Rank>(members_->count()))
    if (rank != members_->self && roll_->has_arrived(rank, number_) && !roll_->has_completed(rank, number_) &&
        is_silent(*members_, last_sign_ns(rank), timeout_s_))
      stopped.push_back(rank);
  return stopped;
}

void OperationWatch::check() {
  pulse_->beat();
  if (*interrupted_) (*interrupted_)();
  check_causes();
  check_wire();
  seek_words();
  all_have_arrived();  // a disagreement with a rank that sends us nothing must end this, too
  check_messages();
  check_deadline();
}

/// Where ranks are not heard of unasked: asks once somebody seems to do something else, or nothing has moved for long.
void OperationWatch::seek_words() {
  if (has_called_ || unseen_.empty()) return;
  if (!wire_->mismatch() && members_->now_ns() - begin_ns_ < kPatience_ns) return;
  has_called_ = true;
  roll_->call(number_);
}

/// A rank that disagrees sends messages of another operation, and says so. One that says the same as this rank does not.
void OperationWatch::check_messages() const {
  if (!compares_) return;
  const std::optional<ForeignMessage> foreign = wire_->mismatch();
  if (!foreign || !roll_->has_arrived(foreign->peer, number_)) return;
  check_agreement(number_, *members_, foreign->peer, roll_->entry(foreign->peer, number_), signature_);
  throw BadMessageError(foreign->peer, "a message of operation " + std::to_string(foreign->tag.operation) +
                                           " with digest " + std::to_string(foreign->tag.digest) +
                                           ", where its word is that it is in " + std::to_string(number_) +
                                           " and does the same as " + members_->name(members_->self) +
                                           ". The message's header was damaged on the way");
}

/// Of several causes the earliest counts. A rank that leaves gives its reason before, so lost ranks are looked up
/// first. Otherwise a rank that gives up over another's death, and ends, between the two looks would be blamed for it.
void OperationWatch::check_causes() {
  const std::vector<LostRank> lost = members_->session->lost();
  std::optional<Cause> first = surrendered_over();
  for (const LostRank& one : lost)
    if (const std::optional<Rank> rank = members_->number_of(one.rank);
        rank && !roll_->has_completed(*rank, number_))
      consider(one.cause(), &first);
  for (const LostRank& one : pulse_->lost())
    if (!roll_->has_completed(one.rank, number_)) consider(members_->cause(one.rank, "has died"), &first);
  if (first) fail_for(*first);
}

/// A connection ends before the cause is known. News of a rank that gave up or died comes by other ways, with its
/// reason.
void OperationWatch::check_wire() {
  const std::vector<LostRank> lost = wire_->lost();
  if (lost.empty()) return;
  if (!wire_lost_.has_lasted(kGrace_ns, members_->now_ns()) && members_->session->courier()) return;
  for (const LostRank& one : lost)
    if (!roll_->has_completed(one.rank, number_))
      fail_for(members_->cause(one.rank, "is lost: " + one.reason));
}

/// A rank that has completed this operation may have exited since; one that has not is lost.
void OperationWatch::fail_for(const Cause& cause) const {
  const std::optional<Rank> rank = members_->number_of(cause.rank);
  const bool may_not_have_come = rank && !cause.is_absence && !roll_->has_arrived(*rank, number_);
  members_->throw_for(cause, operation() + ": " + members_->described(cause) +
                                 (may_not_have_come ? ", before it was known here to have come to it" : "") +
                                 kGoOn);
}

/// The reasons for which others have given up. A rank that had finished this operation gave up over a later one. This
/// rank may still come to that one, and hear the same there. But perhaps it waits for a message that went with the
/// other's wire. An abort concerns all operations at once.
std::optional<Cause> OperationWatch::surrendered_over() {
  std::optional<Cause> first;
  for (const Pulse::GivenUp& given_up : pulse_->given_up()) {
    const bool is_through = roll_->has_completed(given_up.rank, number_);
    const bool counts =
        given_up.failure == Failure::closed ? !is_through
        : given_up.failure == Failure::aborted
            ? true
            : !is_through || given_up_after_.has_lasted(kSurrenderGrace_ns, members_->now_ns());
    if (counts) consider(given_up.cause, &first);
  }
  return first;
}

/// Blames the first rank that has not come, or else the first that stands still.
void OperationWatch::check_deadline() const {
  const std::int64_t waited_ns = members_->now_ns() - begin_ns_;
  if (static_cast<double>(waited_ns) < 1e9 * timeout_s_) return;
  const std::vector<Rank> absent = absent_ranks(), stopped = stopped_ranks();
  const std::string in_time = " within " + format_seconds(timeout_s_);
  Cause cause{.reason = "all ranks are here, but too slow", .at_ns = members_->now_ns(), .is_absence = true};
  std::string reason = absent.empty() && stopped.empty() ? cause.reason : "";
  if (!absent.empty()) {
    reason += names_of(absent) + " has not arrived";
    cause.reason = "has not arrived" + in_time;
  }
  if (!stopped.empty()) {
    reason += (reason.empty() ? "" : "; ") + names_of(stopped) + " has arrived, but stands still";
    if (absent.empty()) cause.reason = "has arrived, but stands still";
  }
  const std::vector<Rank>& blamed = absent.empty() ? stopped : absent;
  if (!blamed.empty()) cause.rank = members_->world_rank(blamed.front());
  if (blamed.size() > 1) cause.reason += "; neither has " + names_of({blamed.begin() + 1, blamed.end()});
  for (const std::string& complaint : members_->session->complaints()) reason += "; " + complaint;
  throw AbsentMemberError(operation() + " did not finish" + in_time + ": " + reason +
                              ". Inputs are as they were; this communicator can no longer be used.",
                          cause);
}

}  // namespace hemiola
