// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/emulated/shared_network.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <limits>

#include "hemiola/base/error.hpp"
#include "hemiola/base/rounding.hpp"

namespace hemiola {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace

enum class SharedNetwork::Phase : std::uint32_t { posting, paying, flowing, landing, over };

struct SharedNetwork::Flow {
  double bytes_left;
  double rate;   ///< bytes per nanosecond
  double since;  ///< when the rate was set last
  double next;   ///< when it ends, as things are now
};

/// The time for which a message occupies one link for itself, as bytes at the link's bandwidth at the begin.
struct SharedNetwork::Payment {
  int link;
  Flow flow;  ///< `next` is never once it has ended
};

/// One message. It starts when both ends are posted.
struct SharedNetwork::Entry {
  struct End {
    bool posted;
    bool taken;
    double since;  ///< posted at this time of the emulated clock
  };
  std::uint64_t name;  ///< number + 1; 0: free
  std::uint64_t epoch;
  Phase phase;
  std::uint32_t active_at;  ///< its index in active_
  Rank src, dst;
  End ends[2];  ///< the receiving, the sending
  std::uint32_t payments_left;
  Flow flow;  ///< of its bytes; `next` is when its next phase begins, or a payment ends
};

struct SharedNetwork::RankState {
  std::uint64_t epoch;
  std::uint32_t untaken;  ///< events it has not seen
  bool is_reacting;       ///< to events that it has seen
};

struct SharedNetwork::Header {
  std::atomic<std::uint32_t> readiness;  ///< 0, 1: somebody prepares the state, 2: ready
  pthread_mutex_t mutex;
  double begin_ns;  ///< the real clock when the emulated one was 0
  double now;
  std::uint32_t active_count;
  std::uint32_t slowdown_version;
};

namespace {

constexpr std::size_t whole_lines(std::size_t bytes) {
  return rounded_up<std::size_t>(bytes, 64);
}

}  // namespace

std::size_t SharedNetwork::region_bytes(const EmulatedNetwork& model) {
  const auto ranks = static_cast<std::size_t>(model.rank_count());
  const auto links = static_cast<std::size_t>(model.link_count());
  const std::size_t entries = ranks * ranks * kWindow;
  return whole_lines(sizeof(Header)) + whole_lines(ranks * sizeof(RankState)) +
         whole_lines(links * sizeof(double)) + whole_lines(entries * sizeof(Entry)) +
         whole_lines(entries * model.most_payments() * sizeof(Payment)) + entries * sizeof(std::uint32_t);
}

SharedNetwork::SharedNetwork(std::span<std::byte> region, Rank self, const EmulatedNetwork* model)
    : model_(model), self_(self) {
  const auto ranks = static_cast<std::size_t>(model->rank_count());
  HEMIOLA_CHECK(region.size() >= region_bytes(*model), "the emulated network's region is too small");
  std::byte* at = region.data();
  header_ = reinterpret_cast<Header*>(at);
  ranks_ = reinterpret_cast<RankState*>(at += whole_lines(sizeof(Header)));
  slowdown_ = reinterpret_cast<double*>(at += whole_lines(ranks * sizeof(RankState)));
  const auto links = static_cast<std::size_t>(model->link_count());
  entries_ = reinterpret_cast<Entry*>(at += whole_lines(links * sizeof(double)));
  const std::size_t entries = ranks * ranks * kWindow;
  payments_ = reinterpret_cast<Payment*>(at += whole_lines(entries * sizeof(Entry)));
  active_ =
      reinterpret_cast<std::uint32_t*>(at + whole_lines(entries * model->most_payments() * sizeof(Payment)));
  std::uint32_t nobody = 0;
  if (header_->readiness.compare_exchange_strong(nobody, 1)) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&header_->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    std::ranges::copy(model->link_slowdown({.ports = model->slowdown(), .links = {}}), slowdown_);
    header_->slowdown_version = 1;
    header_->begin_ns = monotonic_ns();
    header_->readiness.store(2);
  }
  while (header_->readiness.load() != 2) sched_yield();
}

SharedNetwork::Session::Session(SharedNetwork* network) : network_(network) {
  // A rank that died with the lock leaves the state as it was in the middle of a change; its death ends the operation,
  // so the state no longer matters to the others.
  if (pthread_mutex_lock(&network_->header_->mutex) == EOWNERDEAD)
    pthread_mutex_consistent(&network_->header_->mutex);
  network_->notice_slowdown();
}

SharedNetwork::Session::~Session() {
  pthread_mutex_unlock(&network_->header_->mutex);
}

/// The change of factors gave open flows their rates, so this only concerns rates from now on.
void SharedNetwork::notice_slowdown() {
  if (slowdown_version_ == header_->slowdown_version) return;
  slowdown_version_ = header_->slowdown_version;
  capacities_ = model_->capacities({slowdown_, static_cast<std::size_t>(model_->link_count())});
}

void SharedNetwork::Session::slow_down(std::span<const double> link_slowdown) {
  SharedNetwork& n = *network_;
  advance();
  std::ranges::copy(link_slowdown, n.slowdown_);
  ++n.header_->slowdown_version;
  n.notice_slowdown();
  n.set_rates();
}

double SharedNetwork::real_now_ns() const {
  return monotonic_ns() - header_->begin_ns;
}

std::size_t SharedNetwork::entry_index(const MessageName& m) const {
  const auto pair = static_cast<std::size_t>(m.src) * static_cast<std::size_t>(model_->rank_count()) +
                    static_cast<std::size_t>(m.dst);
  return pair * kWindow + m.number % kWindow;
}

void SharedNetwork::Session::acknowledge() {
  network_->ranks_[static_cast<std::size_t>(network_->self_)].is_reacting = false;
}

bool SharedNetwork::Session::post(const MessageName& message, std::size_t bytes, double not_before_ns) {
  SharedNetwork& n = *network_;
  RankState& own = n.ranks_[static_cast<std::size_t>(n.self_)];
  const std::size_t index = n.entry_index(message);
  Entry& e = n.entries_[index];
  const bool sending = message.src == n.self_;
  if (e.name != 0 && (e.name != message.number + 1 || e.epoch != own.epoch || e.ends[sending].posted))
    return false;
  if (e.name == 0) {
    e = {message.number + 1,
         own.epoch,
         Phase::posting,
         n.header_->active_count,
         message.src,
         message.dst,
         {},
         0,
         {0, 0, 0, kNever}};
    n.active_[n.header_->active_count++] = static_cast<std::uint32_t>(index);
  }
  if (sending) e.flow.bytes_left = static_cast<double>(bytes);
  // A reaction belongs to the moment of its cause, at which the clock stands still; anything else is new.
  const double now = own.is_reacting ? n.header_->now : std::max(n.header_->now, n.real_now_ns());
  e.ends[sending] = {true, false, std::max(now, not_before_ns)};
  if (e.ends[!sending].posted) e.flow.next = std::max(e.ends[0].since, e.ends[1].since);
  return true;
}

double SharedNetwork::limit_ns() const {
  for (Rank rank : indices<Rank>(model_->rank_count())) {
    const RankState& state = ranks_[static_cast<std::size_t>(rank)];
    if (state.untaken > 0 || state.is_reacting) return header_->now;
  }
  return std::max(header_->now, real_now_ns());
}

double SharedNetwork::next_time_ns() const {
  double next = kNever;
  for (std::uint32_t i = 0; i < header_->active_count; ++i)
    next = std::min(next, entries_[active_[i]].flow.next);
  return next;
}

void SharedNetwork::Session::advance() {
  SharedNetwork& n = *network_;
  while (true) {
    const double limit = n.limit_ns();
    const double next = n.next_time_ns();
    if (next > limit) {
      n.header_->now = limit;
      return;
    }
    n.header_->now = std::max(n.header_->now, next);
    n.handle_events_at(n.header_->now);
  }
}

double SharedNetwork::Session::now_ns() const {
  return network_->header_->now;
}

/// Flows progress at their rates up to `time`, then due messages change their phase, then rates follow.
void SharedNetwork::handle_events_at(double time) {
  bool rates_change = false;
  for (std::uint32_t i = 0; i < header_->active_count; ++i) {
    Entry& e = entries_[active_[i]];
    if (e.flow.next > time) continue;
    if (e.phase == Phase::posting) {
      begin_payments(&e);
      rates_change = true;
    } else if (e.phase == Phase::paying) {
      for (Payment& payment : payments(e)) {
        if (payment.flow.next > time) continue;
        payment.flow.next = kNever;
        --e.payments_left;
      }
      if (e.payments_left == 0) begin_flow(&e);
      rates_change = true;
    } else if (e.phase == Phase::flowing) {
      e.phase = Phase::landing;
      e.flow.next = time + model_->latency_ns(e.src, e.dst);
      tell(e.src);
      rates_change = true;
    } else if (e.phase == Phase::landing) {
      e.phase = Phase::over;
      e.flow.next = kNever;
      tell(e.dst);
    }
  }
  if (rates_change) set_rates();
}

void SharedNetwork::tell(Rank rank) {
  ++ranks_[static_cast<std::size_t>(rank)].untaken;
}

/// The message occupies its links on all of them at once; its bytes flow when it has done with the last.
void SharedNetwork::begin_payments(Entry* entry) {
  const std::span<Payment> all = payments(*entry);
  entry->payments_left = 0;
  for (const int link : model_->path(entry->src, entry->dst))
    if (const double ns = model_->message_ns(link); ns > 0)
      all[entry->payments_left++] = {link,
                                     {ns * capacities_[static_cast<std::size_t>(link)], 0, header_->now, 0}};
  for (Payment& unused : all.subspan(entry->payments_left)) unused.flow.next = kNever;
  if (entry->payments_left > 0)
    entry->phase = Phase::paying;
  else
    begin_flow(entry);
}

void SharedNetwork::begin_flow(Entry* entry) {
  entry->phase = Phase::flowing;
  entry->flow.rate = 0;
  entry->flow.since = header_->now;
}

std::span<SharedNetwork::Payment> SharedNetwork::payments(const Entry& entry) const {
  const auto index = static_cast<std::size_t>(&entry - entries_);
  return {payments_ + index * model_->most_payments(), model_->most_payments()};
}

void SharedNetwork::set_rates() {
  flows_.clear();
  paths_.clear();
  for (std::uint32_t i = 0; i < header_->active_count; ++i) {
    Entry& e = entries_[active_[i]];
    if (e.phase == Phase::flowing) {
      flows_.push_back(&e.flow);
      paths_.push_back(model_->path(e.src, e.dst));
    } else if (e.phase == Phase::paying) {
      for (Payment& payment : payments(e)) {
        if (payment.flow.next == kNever) continue;
        flows_.push_back(&payment.flow);
        paths_.emplace_back(&payment.link, 1);
      }
    }
  }
  const std::span<const double> rates = filling_.fill(paths_, capacities_);
  for (std::size_t f = 0; f < flows_.size(); ++f) {
    Flow& flow = *flows_[f];
    flow.bytes_left = std::max(0.0, flow.bytes_left - flow.rate * (header_->now - flow.since));
    flow.since = header_->now;
    flow.rate = rates[f];
    flow.next = header_->now + flow.bytes_left / flow.rate;
  }
  for (std::uint32_t i = 0; i < header_->active_count; ++i) {
    Entry& e = entries_[active_[i]];
    if (e.phase != Phase::paying) continue;
    e.flow.next = kNever;
    for (const Payment& payment : payments(e)) e.flow.next = std::min(e.flow.next, payment.flow.next);
  }
}

bool SharedNetwork::Session::take(const MessageName& message) {
  SharedNetwork& n = *network_;
  const std::size_t index = n.entry_index(message);
  Entry& e = n.entries_[index];
  const bool sending = message.src == n.self_;
  if (e.phase != Phase::over && !(sending && e.phase == Phase::landing)) return false;
  RankState& own = n.ranks_[static_cast<std::size_t>(n.self_)];
  --own.untaken;
  own.is_reacting = true;
  e.ends[sending].taken = true;
  if (e.ends[!sending].taken) n.free(index);
  return true;
}

void SharedNetwork::free(std::size_t index) {
  Entry& e = entries_[index];
  const std::uint32_t last = active_[--header_->active_count];
  active_[e.active_at] = last;
  entries_[last].active_at = e.active_at;
  e.name = 0;
}

void SharedNetwork::Session::reset(std::uint64_t epoch) {
  SharedNetwork& n = *network_;
  n.ranks_[static_cast<std::size_t>(n.self_)] = {epoch, 0, false};
  for (std::uint32_t i = n.header_->active_count; i-- > 0;) {
    const std::uint32_t index = n.active_[i];
    Entry& e = n.entries_[index];
    if (e.src != n.self_ && e.dst != n.self_) continue;
    const bool sending = e.src == n.self_;
    const bool other_waits = e.ends[!sending].posted && !e.ends[!sending].taken;
    e.ends[sending] = {false, true, 0};
    const bool other_is_told = e.phase == Phase::over || (!sending && e.phase == Phase::landing);
    if (!other_waits) {
      n.free(index);
    } else if (!other_is_told) {
      // The other end stays until its rank resets, too; until then nothing happens to it.
      e.phase = Phase::posting;
      e.flow.next = kNever;
    }
  }
  n.set_rates();
}

std::optional<double> SharedNetwork::Session::next_event_ns() const {
  const double next = network_->next_time_ns();
  if (next == kNever) return std::nullopt;
  return std::max(0.0, next - network_->real_now_ns());
}

}  // namespace hemiola
