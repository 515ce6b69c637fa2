#include "hemiola/runtime/control/local/local_roll.hpp"

#include <atomic>

#include "hemiola/base/error.hpp"
#include "hemiola/base/short_text.hpp"

namespace hemiola {

/// The fields that others read at every operation lie in the first two cache lines.
struct alignas(128) LocalRoll::Slot {
  std::atomic<std::uint64_t> count;  ///< number + 1; written last
  std::int64_t arrival_ns;
  std::int64_t own_ns;
  bool complains;
  Signature signature;
  ShortText complaint;
};

struct LocalRoll::Row {
  Slot slots[2];
  alignas(128) std::atomic<std::uint64_t> completed;  ///< number + 1
};

std::size_t LocalRoll::region_bytes(int rank_count) {
  return static_cast<std::size_t>(rank_count) * sizeof(Row);
}

LocalRoll::LocalRoll(std::span<std::byte> region, Rank self, int rank_count, const Session* clock)
    : rows_(reinterpret_cast<Row*>(region.data())), self_(self), clock_(clock) {
  HEMIOLA_CHECK(region.size() >= region_bytes(rank_count), "the roll's region is too small");
}

LocalRoll::Row& LocalRoll::row(Rank rank) const {
  return rows_[static_cast<std::size_t>(rank)];
}

const LocalRoll::Slot& LocalRoll::slot(Rank rank, std::uint64_t number) const {
  return row(rank).slots[number % 2];
}

void LocalRoll::publish(std::uint64_t number, const Word& word) {
  Slot& own = row(self_).slots[number % 2];
  own.arrival_ns = clock_->clock().now_ns;
  own.own_ns = word.own_ns;
  own.signature = word.signature;
  own.complains = !word.complaint.empty();
  if (own.complains) own.complaint.write(word.complaint);
  own.count.store(number + 1, std::memory_order_release);
}

bool LocalRoll::has_arrived(Rank rank, std::uint64_t number) const {
  return slot(rank, number).count.load(std::memory_order_acquire) == number + 1;
}

Roll::Entry LocalRoll::entry(Rank rank, std::uint64_t number) const {
  const Slot& s = slot(rank, number);
  return {s.signature, s.complains ? s.complaint.view() : std::string_view(), s.own_ns, s.arrival_ns};
}

void LocalRoll::complete(std::uint64_t number) {
  row(self_).completed.store(number + 1, std::memory_order_release);
}

bool LocalRoll::has_completed(Rank rank, std::uint64_t number) const {
  return row(rank).completed.load(std::memory_order_acquire) > number;
}

}  // namespace hemiola
