#include "hemiola/runtime/arrival/board.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

constexpr std::size_t kTextBytes = 384;

using Text = std::array<char, kTextBytes>;

/// Cuts between characters, not inside one.
void write_text(const std::string& text, Text* to) {
  std::size_t length = std::min(text.size(), to->size() - 1);
  if (length < text.size())
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0u) == 0x80u) --length;
  std::memcpy(to->data(), text.data(), length);
  (*to)[length] = '\0';
}

}  // namespace

std::int64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// What others read at every operation lies in the first two cache lines.
struct alignas(128) ArrivalBoard::Entry {
  std::atomic<std::uint64_t> count;  ///< number + 1; written last
  std::int64_t arrival_ns;
  bool complains;
  Signature signature;
  Text complaint;
};

struct alignas(128) ArrivalBoard::State {
  std::atomic<std::uint64_t> completed;  ///< number + 1
  std::atomic<std::int64_t> beat_ns;
  std::atomic<Failure> failure;  ///< written after the text
  Text text;
};

struct ArrivalBoard::RankBlock {
  Entry entries[2];
  State state;
};

std::size_t ArrivalBoard::region_bytes(int rank_count) {
  return static_cast<std::size_t>(rank_count) * sizeof(RankBlock);
}

ArrivalBoard::ArrivalBoard(std::span<std::byte> region, Rank self, int rank_count)
    : blocks_(reinterpret_cast<RankBlock*>(region.data())), self_(self), rank_count_(rank_count) {
  HEMIOLA_CHECK(region.size() >= region_bytes(rank_count), "the arrival board's region is too small");
}

ArrivalBoard::RankBlock& ArrivalBoard::block(Rank rank) const {
  return blocks_[static_cast<std::size_t>(rank)];
}

const ArrivalBoard::Entry& ArrivalBoard::entry(Rank rank, std::uint64_t number) const {
  return block(rank).entries[number % 2];
}

void ArrivalBoard::publish(std::uint64_t number, const Signature& signature, const std::string& complaint) {
  Entry& e = block(self_).entries[number % 2];
  e.arrival_ns = monotonic_ns();
  e.signature = signature;
  e.complains = !complaint.empty();
  if (e.complains) write_text(complaint, &e.complaint);
  e.count.store(number + 1, std::memory_order_release);
}

bool ArrivalBoard::has_arrived(Rank rank, std::uint64_t number) const {
  return entry(rank, number).count.load(std::memory_order_acquire) == number + 1;
}

void ArrivalBoard::check_agreement(Rank rank, std::uint64_t number, const Signature& own) const {
  const Entry& e = entry(rank, number);
  if (!e.complains && e.signature == own) [[likely]]
    return;
  const std::string where = "operation " + std::to_string(number);
  if (e.complains)
    throw MismatchError(where + ": rank " + std::to_string(rank) + " raised '" + e.complaint.data() +
                        "', rank " + std::to_string(self_) + " called " + std::string(name_of(own.kind)) +
                        " with " + describe_array(own) +
                        ". Inputs are as they were; correct the call on rank " + std::to_string(rank) + ".");
  const Difference d = difference(e.signature, own);
  throw MismatchError(where + " (" + std::string(name_of(own.kind)) + "): rank " + std::to_string(rank) +
                      " " + std::string(d.verb) + " " + d.left + ", rank " + std::to_string(self_) + " " +
                      d.right +
                      ". Inputs are as they were; every rank must make the same calls in the same order.");
}

std::int64_t ArrivalBoard::arrival_ns(Rank rank, std::uint64_t number) const {
  return entry(rank, number).arrival_ns;
}

void ArrivalBoard::beat() {
  block(self_).state.beat_ns.store(monotonic_ns(), std::memory_order_relaxed);
}

std::int64_t ArrivalBoard::last_sign_ns(Rank rank, std::uint64_t number) const {
  return std::max(arrival_ns(rank, number), block(rank).state.beat_ns.load(std::memory_order_relaxed));
}

void ArrivalBoard::complete(std::uint64_t number) {
  block(self_).state.completed.store(number + 1, std::memory_order_release);
}

bool ArrivalBoard::has_completed(Rank rank, std::uint64_t number) const {
  return block(rank).state.completed.load(std::memory_order_acquire) > number;
}

void ArrivalBoard::give_up(Failure failure, const std::string& text) {
  State& state = block(self_).state;
  if (state.failure.load(std::memory_order_relaxed) != Failure::none) return;
  write_text(text, &state.text);
  state.failure.store(failure, std::memory_order_release);
}

std::optional<ArrivalBoard::GivenUp> ArrivalBoard::given_up() const {
  for (Rank rank : indices<Rank>(rank_count_)) {
    if (rank == self_) continue;
    const State& state = block(rank).state;
    const Failure failure = state.failure.load(std::memory_order_acquire);
    if (failure != Failure::none) return GivenUp{rank, failure, state.text.data()};
  }
  return std::nullopt;
}

}  // namespace hemiola
