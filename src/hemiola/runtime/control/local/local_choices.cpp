// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/control/local/local_choices.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/base/rounding.hpp"
#include "hemiola/runtime/session/lost_member.hpp"

namespace hemiola {
namespace {

constexpr std::size_t kLists = 4096;
constexpr std::size_t kAlignment = 64;
/// Kept for the answer that there is no more room.
constexpr std::size_t kReserve = std::size_t{16} << 20;

/// A place in an arena and the epoch to which it belongs, in one word. Epochs start at 1 here, so that memory full of
/// zeros is of none.
struct Tagged {
  static constexpr int kPlaceBits = 36;

  std::uint64_t epoch = 0;  ///< plus 1
  std::uint64_t place = 0;

  static Tagged of(std::uint64_t word) {
    return {word >> kPlaceBits, word & ((std::uint64_t{1} << kPlaceBits) - 1)};
  }
  std::uint64_t word() const { return epoch << kPlaceBits | place; }
};
static_assert(LocalChoices::kArenaBytes < std::uint64_t{1} << Tagged::kPlaceBits);

/// A word whose epoch is `epoch` or, where it is of an earlier one, nothing of this.
Tagged now(std::uint64_t word, std::uint64_t epoch) {
  const Tagged tagged = Tagged::of(word);
  return tagged.epoch < epoch + 1 ? Tagged{epoch + 1, 0} : tagged;
}

}  // namespace

/// One answer. All but the last two is written before others can find it, and never changes.
struct LocalChoices::Node {
  Hash128 digest;
  std::uint64_t next;  ///< place of the next in the list; 0: none
  Rank claimer;
  std::uint64_t place;              ///< of the bytes; written before `size`
  std::atomic<std::uint64_t> size;  ///< plus 1; 0: not decided
};

struct LocalChoices::Book {
  std::atomic<std::uint64_t> used;                       ///< Tagged: bytes of the arena that are given out
  std::array<std::atomic<std::uint64_t>, kLists> lists;  ///< Tagged: the first choice of each
  alignas(4096) std::array<std::byte, kArenaBytes> arena;

  std::atomic<std::uint64_t>& list(const ChoiceKey& key) { return lists[key.digest.low % kLists]; }
  Node& node(std::uint64_t place) { return *reinterpret_cast<Node*>(arena.data() + place); }
};

std::size_t LocalChoices::region_bytes() {
  return 2 * sizeof(Book);
}

LocalChoices::LocalChoices(std::span<std::byte> region, Rank self, int rank_count)
    : books_(reinterpret_cast<Book*>(region.data())), self_(self), rank_count_(rank_count) {
  HEMIOLA_CHECK(region.size() >= region_bytes(), "the region of the choices is too small");
}

LocalChoices::Book& LocalChoices::book(std::uint64_t epoch) const {
  return books_[epoch % 2];
}

bool LocalChoices::is_outdated(const ChoiceKey& key) const {
  return Tagged::of(book(key.epoch).used.load()).epoch > key.epoch + 1;
}

/// Whether an entry may lie there. Asked after the place was read, since the used part only grows in an epoch.
bool LocalChoices::is_given_out(std::uint64_t epoch, std::uint64_t place, std::uint64_t bytes) const {
  const std::uint64_t used = std::min<std::uint64_t>(Tagged::of(book(epoch).used.load()).place, kArenaBytes);
  return place >= kAlignment && place % kAlignment == 0 && bytes <= used && place <= used - bytes;
}

/// Null where the epoch has passed, whose memory others fill anew.
LocalChoices::Node* LocalChoices::node_at(const ChoiceKey& key, std::uint64_t place) const {
  if (is_given_out(key.epoch, place, sizeof(Node))) return &book(key.epoch).node(place);
  if (is_outdated(key)) return nullptr;
  throw FormatError("the schedules that the ranks of this host share are damaged: place " +
                    std::to_string(place) +
                    " of a list is none. A process of this job has written into memory that is not its own");
}

/// A list has no more nodes than there is memory for them: one that does not end is damaged.
LocalChoices::Node* LocalChoices::find(const ChoiceKey& key) const {
  Book& b = book(key.epoch);
  const Tagged first = now(b.list(key).load(), key.epoch);
  if (first.epoch != key.epoch + 1) return nullptr;
  std::uint64_t place = first.place;
  for (std::size_t left = kArenaBytes / kAlignment; place != 0; --left) {
    Node* const node = node_at(key, left > 0 ? place : kArenaBytes);
    if (node == nullptr || node->digest == key.digest) return node;
    place = node->next;
  }
  return nullptr;
}

/// Nothing: the epoch has passed, or its arena is full. Place 0 stays free.
std::optional<std::uint64_t> LocalChoices::allocate(std::uint64_t epoch, std::size_t bytes) {
  std::atomic<std::uint64_t>& used = book(epoch).used;
  const std::size_t room = bytes <= kSmallBytes ? kArenaBytes : kArenaBytes - kReserve;
  std::uint64_t before = used.load();
  for (;;) {
    const Tagged filled = now(before, epoch);
    const std::uint64_t place = rounded_up(std::max<std::uint64_t>(filled.place, 1), kAlignment);
    if (filled.epoch != epoch + 1 || bytes > room || place > room - bytes) return std::nullopt;
    const Tagged after{epoch + 1, rounded_up(place + bytes, kAlignment)};
    if (used.compare_exchange_weak(before, after.word())) return place;
  }
}

/// The node is complete before it enters the list; the loser of a race for a key leaves an unused one behind.
bool LocalChoices::claim(const ChoiceKey& key) {
  if (find(key) != nullptr) return false;
  const std::optional<std::uint64_t> place = allocate(key.epoch, sizeof(Node));
  if (!place && !is_outdated(key))
    throw ArgumentError(
        "more different calls than schedules can be kept for: change sizes less often, or pass schedule=");
  if (!place) return false;
  Book& b = book(key.epoch);
  Node* own = new (&b.node(*place)) Node{key.digest, 0, self_, 0, 0};
  std::uint64_t before = b.list(key).load();
  for (;;) {
    const Tagged first = now(before, key.epoch);
    if (first.epoch != key.epoch + 1 || find(key) != nullptr) return false;
    own->next = first.place;
    if (b.list(key).compare_exchange_strong(before, Tagged{key.epoch + 1, *place}.word())) return true;
  }
}

void LocalChoices::decide(const ChoiceKey& key, std::span<const std::byte> bytes) {
  Node* own = find(key);
  if (own == nullptr && is_outdated(key)) return;  // nobody waits for it any more
  HEMIOLA_CHECK(own != nullptr && own->claimer == self_ && own->size.load() == 0, "a choice of another rank");
  const std::optional<std::uint64_t> place = allocate(key.epoch, bytes.size());
  if (!place && is_outdated(key)) return;
  if (!place)
    throw ArgumentError("schedules for different calls take more than the " + std::to_string(kArenaBytes) +
                        " bytes that are kept: change sizes less often, or pass schedule=");
  if (!bytes.empty()) std::memcpy(book(key.epoch).arena.data() + *place, bytes.data(), bytes.size());
  own->place = *place;
  own->size.store(bytes.size() + 1);
}

Choices::Answer LocalChoices::look(const ChoiceKey& key) const {
  Answer answer;
  bool is_sound = true;
  if (Node* node = find(key)) {
    answer.claimer = node->claimer;
    answer.state = Answer::State::claimed;
    if (const std::uint64_t size = node->size.load(); size > 0) {
      const std::uint64_t place = node->place;
      is_sound = is_given_out(key.epoch, place, size - 1);
      if (is_sound) {
        const std::byte* const bytes = book(key.epoch).arena.data() + place;
        answer.bytes.assign(bytes, bytes + (size - 1));
      }
      answer.state = Answer::State::decided;
    }
  }
  if (is_outdated(key)) return {Answer::State::outdated, {}, {}};  // even while we looked
  if (answer.claimer < 0 || answer.claimer >= rank_count_)
    throw FormatError("a schedule that ranks of this host share is said to be of rank " +
                      std::to_string(answer.claimer) + " of " + std::to_string(rank_count_));
  if (!is_sound) throw BadMessageError(answer.claimer, "a schedule that lies where no rank has put one");
  return answer;
}

}  // namespace hemiola
