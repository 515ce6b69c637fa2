// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/health/port_accounts.hpp"

#include <sched.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace hemiola {
namespace {

/// Takes the next `count` of a kind out of memory.
template <typename T>
std::span<T> take(std::span<std::byte>* memory, std::size_t count) {
  const std::span<T> taken(reinterpret_cast<T*>(memory->data()), count);
  *memory = memory->subspan(taken.size_bytes());
  return taken;
}

}  // namespace

std::size_t PortAccounts::memory_bytes(std::size_t port_count) {
  return alignof(Page) + sizeof(Page) * kPages + (sizeof(Stretch) + sizeof(Shares) * kPages) * port_count;
}

std::shared_ptr<std::byte> PortAccounts::own_memory(std::size_t port_count) {
  const auto words = std::make_shared<std::uint64_t[]>(memory_bytes(port_count) / sizeof(std::uint64_t) + 1);
  return {words, reinterpret_cast<std::byte*>(words.get())};
}

PortAccounts::PortAccounts(std::vector<double> healthy, std::size_t own, std::shared_ptr<std::byte> memory)
    : healthy_(std::move(healthy)),
      own_(own),
      memory_(std::move(memory)),
      head_(reinterpret_cast<Head*>(memory_.get())) {
  static_assert(sizeof(Head) <= alignof(Page) && std::atomic<std::uint32_t>::is_always_lock_free);
  std::span<std::byte> rest = std::span(memory_.get(), memory_bytes(healthy_.size())).subspan(alignof(Page));
  pages_ = take<Page>(&rest, kPages);
  from_now_ = take<Stretch>(&rest, healthy_.size());
  from_ = take<Shares>(&rest, kPages * healthy_.size());
}

void PortAccounts::note(const Arrival& arrival) {
  if (pending_.size() < kMostPending) pending_.push_back(arrival);
  if (!hold()) return;
  settle();
  let_go();
}

/// Whether the page is that of our operation: another rank may be further by as many operations as there are pages.
bool PortAccounts::is_ours() {
  if (page().number < number_) {
    page() = Page{.number = number_, .in_now = {}, .in = {}};
    for (std::size_t port = 0; port < healthy_.size(); ++port) from(port).count = 0;
  }
  return page().number == number_;
}

void PortAccounts::settle() {
  if (is_ours()) {
    for (const Arrival& arrival : pending_) settle(arrival);
    has_measured_ = has_measured_ || page().in.count > 0;
    for (std::size_t port = 0; port < healthy_.size() && !has_measured_; ++port)
      has_measured_ = from(port).count > 0;
  }
  pending_.clear();
}

void PortAccounts::settle(const Arrival& arrival) {
  Stretch& in = page().in_now;
  if (in.until_ns == 0) in.until_ns = arrival.now_ns;
  in.taken_ns = static_cast<double>(std::max<std::int64_t>(0, arrival.now_ns - in.until_ns));
  if (arrival.emptied_ns >= in.until_ns) in.bytes += arrival.bytes;
  if (conclude(&in, own_, &page().in)) in.until_ns = arrival.now_ns;
  if (arrival.since_ns == Arrival::kNever) return;
  Stretch& way = from_now_[arrival.port];
  way.bytes += arrival.bytes;
  way.taken_ns += static_cast<double>(
      std::max<std::int64_t>(0, arrival.now_ns - std::max(arrival.since_ns, way.until_ns)));
  way.until_ns = std::max(way.until_ns, arrival.now_ns);
  conclude(&way, arrival.port, &from(arrival.port));
}

bool PortAccounts::conclude(Stretch* stretch, std::size_t port, Shares* shares) {
  const double healthy_bytes = stretch->taken_ns * healthy_[port];
  if (stretch->taken_ns < kLeast_ns || healthy_bytes < kLeastBytes) return false;
  shares->latest[shares->count++ % kKept] = static_cast<float>(std::min(1.0, stretch->bytes / healthy_bytes));
  stretch->bytes = stretch->taken_ns = 0;
  return true;
}

float PortAccounts::figure_of(const Shares& shares) {
  const std::size_t count = std::min<std::size_t>(shares.count, kKept);
  if (count == 0) return 0;
  std::vector<float> best(shares.latest.begin(), shares.latest.begin() + static_cast<std::ptrdiff_t>(count));
  std::ranges::sort(best, std::greater());
  return best[count < kLeastLeftOut ? 0 : std::max<std::size_t>(1, count / kLeftOut)];
}

PortAccounts::Figures PortAccounts::figures() {
  Figures found{.in = 0, .from = std::vector<float>(healthy_.size())};
  for (int tries = 0; !hold(); ++tries) {
    if (tries == kTries) return found;
    sched_yield();
  }
  settle();
  if (is_ours()) {
    found.in = figure_of(page().in);
    for (std::size_t port = 0; port < healthy_.size(); ++port) found.from[port] = figure_of(from(port));
  }
  let_go();
  return found;
}

void PortAccounts::next_operation() {
  ++number_;
  pending_.clear();
  has_measured_ = false;
}

}  // namespace hemiola
