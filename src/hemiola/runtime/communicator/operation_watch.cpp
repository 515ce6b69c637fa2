#include "hemiola/runtime/communicator/operation_watch.hpp"

#include <algorithm>
#include <cstdio>

#include "hemiola/base/error.hpp"

namespace hemiola {

namespace {

void append(Rank rank, std::string* list) {
  *list += (list->empty() ? "rank " : ", rank ") + std::to_string(rank);
}

}  // namespace

void OperationWatch::begin(std::uint64_t number, const Signature& signature, double timeout_s,
                           const std::function<void()>& interrupted) {
  number_ = number;
  signature_ = signature;
  timeout_s_ = timeout_s;
  begin_ns_ = monotonic_ns();
  interrupted_ = &interrupted;
  unseen_.clear();
  for (Rank rank : indices<Rank>(members_->count()))
    if (rank != members_->self) unseen_.push_back(rank);
}

bool OperationWatch::admits(Rank peer) {
  if (!board_->has_arrived(peer, number_)) return false;
  board_->check_agreement(peer, number_, signature_);
  std::erase(unseen_, peer);
  return true;
}

bool OperationWatch::all_have_arrived() {
  while (!unseen_.empty() && admits(unseen_.back())) {
  }
  return unseen_.empty();
}

void OperationWatch::note_arrivals(ArrivalLog* log) const {
  const auto row = log->next_row();
  for (std::size_t rank = 0; rank < row.size(); ++rank) row[rank] = board_->arrival_ns(Rank{rank}, number_);
  log->commit();
}

std::string OperationWatch::operation() const {
  return std::string(name_of(signature_.kind)) + " (operation " + std::to_string(number_) + ") on rank " +
         std::to_string(members_->self);
}

std::string OperationWatch::absent_ranks() const {
  std::string absent;
  for (Rank rank : unseen_)
    if (!board_->has_arrived(rank, number_)) append(rank, &absent);
  return absent;
}

/// Those that have arrived but show no sign of life, neither progress to the end nor waiting.
std::string OperationWatch::stopped_ranks() const {
  const auto silence_ns = static_cast<std::int64_t>(1e9 * std::min(0.5, timeout_s_ / 2));
  std::string stopped;
  for (Rank rank : indices<Rank>(members_->count()))
    if (rank != members_->self && board_->has_arrived(rank, number_) &&
        !board_->has_completed(rank, number_) &&
        monotonic_ns() - board_->last_sign_ns(rank, number_) > silence_ns)
      append(rank, &stopped);
  return stopped;
}

void OperationWatch::check() {
  board_->beat();
  if (*interrupted_) (*interrupted_)();
  check_surrender();  // tells more than the death that may follow it
  check_deaths();
  all_have_arrived();  // a disagreement with a rank that sends us nothing must end this, too
  check_deadline();
}

/// A rank that has completed this operation may have exited since; one that has not is lost.
void OperationWatch::check_deaths() const {
  for (Rank dead : members_->session->dead_ranks()) {
    const auto at = std::find(members_->ranks.begin(), members_->ranks.end(), dead);
    if (at == members_->ranks.end()) continue;
    const Rank rank{at - members_->ranks.begin()};
    if (board_->has_completed(rank, number_)) continue;
    throw LostRankError("rank " + std::to_string(rank) + " has died during " + operation() +
                        (board_->has_arrived(rank, number_) ? "" : ", before it came to it") +
                        ". Inputs are as they were; this communicator can no longer be used.");
  }
}

void OperationWatch::check_surrender() const {
  const auto given_up = board_->given_up();
  if (!given_up) return;
  const std::string text =
      operation() + ": rank " + std::to_string(given_up->rank) + " has given up: " + given_up->text;
  if (given_up->failure == Failure::timeout) throw TimeoutError(text);
  throw LostRankError(text);
}

void OperationWatch::check_deadline() const {
  const std::int64_t waited_ns = monotonic_ns() - begin_ns_;
  if (static_cast<double>(waited_ns) < 1e9 * timeout_s_) return;
  const std::string absent = absent_ranks(), stopped = stopped_ranks();
  std::string reason = absent.empty() && stopped.empty() ? "all ranks are here, but too slow" : "";
  if (!absent.empty()) reason += absent + " has not arrived";
  if (!stopped.empty()) reason += (reason.empty() ? "" : "; ") + stopped + " has arrived, but stands still";
  char time[32];
  std::snprintf(time, sizeof time, "%.3g", timeout_s_);
  throw TimeoutError(operation() + " did not finish within " + time + " s: " + reason +
                     ". Inputs are as they were; this communicator can no longer be used.");
}

}  // namespace hemiola
