// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/control/local/local_roll.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "hemiola/base/error.hpp"
#include "hemiola/base/short_text.hpp"

namespace hemiola {

/// The fields that others read at every operation lie in the first two cache lines.
struct alignas(128) LocalRoll::Slot {
  std::atomic<std::uint64_t> count;  ///< number + 1; written last
  Arrival arrival;
  bool complains, calls;
  Signature signature;
  ShortText complaint;
};

/// Read by others on demand only, so that keeping it costs no line of theirs.
struct LocalRoll::Came {
  std::uint64_t count;  ///< number + 1
  Arrival arrival;
};

struct LocalRoll::Row {
  Slot slots[2];
  alignas(128) std::atomic<std::uint64_t> completed;  ///< number + 1
  /// By operation, in turn. A reader that is in an operation looks before it, and another rank may be in the next.
  alignas(128) Came latest[kKeptArrivals + 2];
};

std::size_t LocalRoll::region_bytes(int rank_count) {
  return static_cast<std::size_t>(rank_count) * sizeof(Row);
}

LocalRoll::LocalRoll(std::span<std::byte> region, Rank self, int rank_count)
    : rows_(reinterpret_cast<Row*>(region.data())), self_(self), rank_count_(rank_count) {
  HEMIOLA_CHECK(region.size() >= region_bytes(rank_count), "the roll's region is too small");
}

LocalRoll::Row& LocalRoll::row(Rank rank) const {
  return rows_[static_cast<std::size_t>(rank)];
}

const LocalRoll::Slot& LocalRoll::slot(Rank rank, std::uint64_t number) const {
  return row(rank).slots[number % 2];
}

LocalRoll::Came& LocalRoll::came(Rank rank, std::uint64_t number) const {
  return row(rank).latest[number % std::size(row(rank).latest)];
}

void LocalRoll::publish(std::uint64_t number, const Word& word) {
  Slot& own = row(self_).slots[number % 2];
  own.arrival = word.arrival;
  own.signature = word.signature;
  own.complains = !word.complaint.empty();
  own.calls = word.calls;
  if (own.complains) own.complaint.write(word.complaint);
  came(self_, number) = {number + 1, word.arrival};
  own.count.store(number + 1, std::memory_order_release);
}

bool LocalRoll::has_arrived(Rank rank, std::uint64_t number) const {
  return slot(rank, number).count.load(std::memory_order_acquire) == number + 1;
}

Roll::Entry LocalRoll::entry(Rank rank, std::uint64_t number) const {
  const Slot& s = slot(rank, number);
  return {s.signature, s.complains ? s.complaint.view() : std::string_view(), s.arrival};
}

bool LocalRoll::is_called(std::uint64_t number) const {
  bool calls = false;
  for (Rank rank : indices<Rank>(rank_count_)) calls |= slot(rank, number).calls;
  return calls;
}

void LocalRoll::complete(std::uint64_t number) {
  row(self_).completed.store(number + 1, std::memory_order_release);
}

bool LocalRoll::has_completed(Rank rank, std::uint64_t number) const {
  return row(rank).completed.load(std::memory_order_acquire) > number;
}

std::vector<Arrival> LocalRoll::arrivals(std::uint64_t first, std::uint64_t end) const {
  std::vector<Arrival> rows, row;
  for (std::uint64_t number = end > kKeptArrivals ? std::max(first, end - kKeptArrivals) : first;
       number < end; ++number, row.clear()) {
    for (Rank rank : indices<Rank>(rank_count_))
      if (const Came& seen = came(rank, number); seen.count == number + 1) row.push_back(seen.arrival);
    if (row.size() == static_cast<std::size_t>(rank_count_)) rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

}  // namespace hemiola
