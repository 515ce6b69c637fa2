// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/local/session_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/base/home_process.hpp"
#include "hemiola/base/refusal.hpp"
#include "hemiola/base/rounding.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/runtime/session/absence.hpp"
#include "hemiola/runtime/session/local/machine_clock.hpp"
#include "hemiola/runtime/session/lost_member.hpp"
#include "hemiola/runtime/session/rank_list.hpp"

namespace hemiola {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kCapacity = std::uint64_t{1} << 42;  // 4 TiB of addresses, not of memory
constexpr std::size_t kEntryCount = 1 << 16;

/// Instead of a region's start: the leader found no room.
constexpr std::uint64_t kRefused = 1;
/// Instead of keys, which are odd and above these.
constexpr std::uint64_t kNeverUsed = 0, kGivenBack = 2, kBeingGivenBack = 4;

/// Of a member's arrival: it has let go of the region.
constexpr std::uint64_t kLetGo = std::uint64_t{1} << 63;

/// A rank that comes first waits for ranks that may need its core: it sleeps, and is then preferred to those that had
/// it. A rank that yields on a busy machine comes back when all others have had their turn, a millisecond or more each.
constexpr int kYields = 0, kLongestSleep_us = 500;

constexpr std::uint64_t page_rounded(std::uint64_t bytes) {
  return rounded_up(bytes, kPage);
}

/// The file's length may not pass this process's file size limit, or the kernel kills it with SIGXFSZ.
std::uint64_t allowed_capacity() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kCapacity;
  return std::min<std::uint64_t>(kCapacity, limit.rlim_cur / kPage * kPage);
}

/// Identifies the `sequence`-th region of a member set; odd.
std::uint64_t key_of(const std::vector<Rank>& members, std::uint64_t sequence) {
  std::uint64_t hash = 0xcbf29ce484222325ull;  // FNV-1a over 64-bit words, finished by SplitMix64's mixer
  for (Rank member : members) hash = (hash ^ static_cast<std::uint64_t>(member)) * 0x100000001b3ull;
  hash = (hash ^ (sequence << 32)) * 0x100000001b3ull;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ull;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebull;
  return (hash ^ (hash >> 31)) | 1;
}

std::string set_text(const std::vector<Rank>& members) {
  return "ranks " + rank_list(members) + (members.size() > 1 ? " share memory" : " shares memory");
}

/// The earliest reason of the given ranks whose processes have ended; nothing if none has one.
std::optional<Cause> end_among(const std::vector<Rank>& ranks, const SessionMemory::Ended& ended) {
  std::optional<Cause> first;
  for (const LostRank& lost : ended()) {
    if (std::ranges::find(ranks, lost.rank) == ranks.end()) continue;
    const Cause cause = lost.cause();
    if (!first || cause.precedes(*first)) first = cause;
  }
  return first;
}

std::size_t place_of(const std::vector<Rank>& members, Rank rank) {
  return static_cast<std::size_t>(std::ranges::find(members, rank) - members.begin());
}

/// Ranks of the session are the world's; its number in the group that would have been is its place among the members.
[[noreturn]] void throw_for(const SessionMemory::Request& request, const Cause& cause,
                            const std::string& before = "") {
  const std::size_t place = place_of(request.members, cause.rank);
  const Rank number = place < request.members.size() ? Rank{place} : Cause::kNobody;
  throw_for(cause, number, set_text(request.members) + ": " + cause.text() + before);
}

[[noreturn]] void throw_absent(const SessionMemory::Request& request, const std::vector<Rank>& absent) {
  const std::string did = "did not come within " + format_seconds(request.deadline.seconds());
  throw_for(request, absence_of(absent, did, machine_now_ns()));
}

}  // namespace

/// A piece of the file, and the region in it, if any: the piece stays with the entry when the region is given back.
/// `offset` is published last.
struct SessionMemory::Entry {
  std::atomic<std::uint64_t> key;
  std::atomic<std::uint64_t> bytes;   ///< the leader's request
  std::atomic<std::uint64_t> offset;  ///< where the region starts in the file; 0: not known yet
  std::atomic<std::uint64_t> start;   ///< of the piece
  std::atomic<std::uint64_t> length;
  std::atomic<std::uint64_t> member_count;
};

/// The file starts with this; zero-filled is its initial state. Entries are used in order.
struct SessionMemory::Header {
  std::atomic<std::uint64_t> used;  ///< bytes after the header that are given out
  std::array<Entry, kEntryCount> entries;
  SurvivorsBoard survivors;
  CauseBoard causes;
  Census census;
};

/// A region starts with this: the requested bytes plus one of each member that is there, marked when it has let go.
/// Then come the members, for ranks that find the region when all of them have ended.
struct SessionMemory::Prefix {
  std::atomic<std::uint64_t> first;
  std::atomic<std::uint64_t>& arrival(std::size_t member) { return (&first)[member]; }
  std::atomic<std::uint64_t>& rank(std::size_t member, std::size_t members) {
    return (&first)[members + member];
  }
  static std::size_t bytes(std::size_t members) {
    return page_rounded(2 * members * sizeof(std::atomic<std::uint64_t>));
  }
};

class SessionMemory::Mapping {
 public:
  Mapping(const Descriptor& file, std::uint64_t offset, std::size_t bytes) {
    void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.get(),
                         static_cast<off_t>(offset));
    if (start == MAP_FAILED)
      throw LostRankError(refusal("cannot map " + std::to_string(bytes) + " bytes of shared memory", errno));
    // A forked child has no part in the session; without the mapping it cannot disturb it either.
    ::madvise(start, bytes, MADV_DONTFORK);
    bytes_ = {static_cast<std::byte*>(start), bytes};
  }
  ~Mapping() {
    if (home_.is_here()) ::munmap(bytes_.data(), bytes_.size());
  }
  Mapping(const Mapping&) = delete;

  const HomeProcess& home() const { return home_; }
  std::span<std::byte> bytes() const { return bytes_; }
  Prefix& prefix() const { return *reinterpret_cast<Prefix*>(bytes_.data()); }

 private:
  HomeProcess home_;
  std::span<std::byte> bytes_;
};

class SessionMemory::Region final : public SharedRegion {
 public:
  Region(std::shared_ptr<SessionMemory> memory, Entry* entry, std::unique_ptr<Mapping> mapping,
         std::size_t place, std::size_t members)
      : SharedRegion(mapping->bytes().subspan(Prefix::bytes(members))),
        memory_(std::move(memory)),
        entry_(entry),
        mapping_(std::move(mapping)),
        place_(place),
        members_(members) {}
  ~Region() override {
    if (!mapping_->home().is_here()) return;
    const std::uint64_t key = entry_->key.load();
    mapping_->prefix().arrival(place_).fetch_or(kLetGo);
    if (is_free(mapping_->prefix(), members_, {}))
      memory_->give_back(entry_, key);
    else
      memory_->has_let_go_ = true;
  }

 private:
  std::shared_ptr<SessionMemory> memory_;
  Entry* entry_;
  std::unique_ptr<Mapping> mapping_;
  std::size_t place_, members_;
};

Descriptor SessionMemory::create() {
  Descriptor memory(::memfd_create("hemiola", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) throw LostRankError(refusal("cannot make shared memory (memfd_create)", errno));
  const std::uint64_t capacity = allowed_capacity();
  // Sealed, so that no process can shorten the file under the others' mappings.
  if (capacity < 2 * sizeof(Header)) throw LostRankError(refusal("cannot size shared memory", EFBIG));
  if (::ftruncate(memory.get(), static_cast<off_t>(capacity)) != 0 ||
      ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    throw LostRankError(refusal("cannot size shared memory", errno));
  return memory;
}

SessionMemory::SessionMemory(Descriptor memory, Rank self)
    : memory_(std::move(memory)),
      self_(self),
      capacity_(static_cast<std::uint64_t>(::lseek(memory_.get(), 0, SEEK_END)) -
                page_rounded(sizeof(Header))),
      table_(std::make_unique<Mapping>(memory_, 0, page_rounded(sizeof(Header)))),
      header_(reinterpret_cast<Header*>(table_->bytes().data())) {}

SessionMemory::~SessionMemory() = default;

std::string SessionMemory::advice_for_more() const {
  if (capacity_ + page_rounded(sizeof(Header)) == kCapacity) return "make fewer or smaller communicators";
  return "the file size limit of the first rank leaves it " + std::to_string(capacity_) +
         " bytes: raise that with 'ulimit -f unlimited' before the ranks start";
}

std::shared_ptr<SharedRegion> SessionMemory::share(const Request& request) {
  table_->home().check();
  const std::vector<Rank>& members = request.members;
  take_back(request.ended());
  const std::uint64_t key = key_of(members, shares_so_far(members));
  if (self_ == members.front()) publish(request, key);
  Entry& entry = await_entry(request, key);
  if (entry.offset.load() == kRefused) {
    count_share(members);
    throw LostRankError(set_text(members) + ": " + std::to_string(request.bytes) +
                        " bytes are more than the session has left; " + advice_for_more());
  }
  const std::size_t prefix_bytes = Prefix::bytes(members.size());
  auto mapping = std::make_unique<Mapping>(memory_, entry.offset.load(), prefix_bytes + entry.bytes.load());
  const std::size_t place = place_of(members, self_);
  std::atomic<std::uint64_t>& arrival = mapping->prefix().arrival(place);
  if (arrival.load() == 0) {  // else this call timed out earlier, and others may be reading
    if (request.fill && entry.bytes.load() == request.bytes)
      request.fill(mapping->bytes().subspan(prefix_bytes));
    arrival.store(request.bytes + 1);
  }
  arrival.fetch_and(~kLetGo);
  try {
    await_members(request, mapping->prefix());
  } catch (const LostRankError&) {
    arrival.fetch_or(kLetGo);
    has_let_go_ = true;
    throw;
  }
  count_share(members);
  return std::make_shared<Region>(shared_from_this(), &entry, std::move(mapping), place, members.size());
}

SurvivorsBoard& SessionMemory::survivors_board() const {
  table_->home().check();
  return header_->survivors;
}

CauseBoard& SessionMemory::cause_board() const {
  table_->home().check();
  return header_->causes;
}

Census& SessionMemory::census() const {
  return header_->census;
}

std::uint64_t SessionMemory::shares_so_far(const std::vector<Rank>& members) {
  const std::lock_guard lock(mutex_);
  return shares_so_far_[members];
}

void SessionMemory::count_share(const std::vector<Rank>& members) {
  const std::lock_guard lock(mutex_);
  ++shares_so_far_[members];
}

SessionMemory::Entry* SessionMemory::find(std::uint64_t key) const {
  for (Entry& entry : header_->entries) {
    const std::uint64_t found = entry.key.load();
    if (found == key) return &entry;
    if (found == kNeverUsed) break;
  }
  return nullptr;
}

/// An entry, given back or new, whose piece has this length; without a piece where there is no room.
SessionMemory::Entry* SessionMemory::take_entry(std::uint64_t key, std::uint64_t length) {
  for (Entry& entry : header_->entries) {
    std::uint64_t expected = kGivenBack;
    if (entry.key.load() == kGivenBack && entry.length.load() == length &&
        entry.key.compare_exchange_strong(expected, key))
      return &entry;
    expected = kNeverUsed;
    if (!entry.key.compare_exchange_strong(expected, key)) continue;
    const std::uint64_t start = header_->used.fetch_add(length);
    if (start + length > capacity_) {
      header_->used.fetch_sub(length);
      return &entry;
    }
    entry.start.store(page_rounded(sizeof(Header)) + start);
    entry.length.store(length);
    return &entry;
  }
  throw LostRankError("this session shares memory " + std::to_string(kEntryCount) +
                      " times, its limit; keep communicators instead of making new ones");
}

/// The lowest member cuts the region and makes it known. Does nothing when a call that timed out has done so.
void SessionMemory::publish(const Request& request, std::uint64_t key) {
  if (find(key) != nullptr) return;
  Entry* entry = take_entry(key, Prefix::bytes(request.members.size()) +
                                     page_rounded(std::min<std::uint64_t>(request.bytes, capacity_)));
  entry->bytes.store(request.bytes);
  if (entry->length.load() == 0) return entry->offset.store(kRefused);
  const std::size_t count = request.members.size();
  const Mapping mapping(memory_, entry->start.load(), Prefix::bytes(count));
  for (std::size_t i = 0; i < count; ++i)
    mapping.prefix().rank(i, count).store(static_cast<std::uint64_t>(request.members[i]));
  entry->member_count.store(count);
  entry->offset.store(entry->start.load());
}

/// Whether each of its members has let go of it or has ended.
bool SessionMemory::is_free(Prefix& prefix, std::size_t member_count, const std::vector<LostRank>& ended) {
  for (std::size_t i = 0; i < member_count; ++i) {
    if ((prefix.arrival(i).load() & kLetGo) != 0) continue;
    const Rank rank{static_cast<int>(prefix.rank(i, member_count).load())};
    if (!is_among(rank, ended)) return false;
  }
  return true;
}

/// Gives back the memory of the dead. Looks only when one more has ended, or this rank has let go of something that
/// others held then.
void SessionMemory::take_back(const std::vector<LostRank>& ended) {
  const bool has_more_ended = ended_before_.exchange(ended.size()) != ended.size();
  const bool has_let_go = has_let_go_.exchange(false);
  if (ended.empty() || (!has_more_ended && !has_let_go)) return;
  for (Entry& entry : header_->entries) {
    const std::uint64_t key = entry.key.load();
    if (key == kNeverUsed) break;
    if (key == kGivenBack || key == kBeingGivenBack || entry.offset.load() <= kRefused) continue;
    const std::size_t count = entry.member_count.load();
    const Mapping mapping(memory_, entry.start.load(), Prefix::bytes(count));
    if (is_free(mapping.prefix(), count, ended)) give_back(&entry, key);
  }
}

/// Its pages go back to the system, and read as zeros for its next user; where the system refuses, it is not used
/// again. Several may find at once that it is free.
void SessionMemory::give_back(Entry* entry, std::uint64_t key) const {
  if (!entry->key.compare_exchange_strong(key, kBeingGivenBack)) return;
  entry->offset.store(0);
  if (::fallocate(memory_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  static_cast<off_t>(entry->start.load()), static_cast<off_t>(entry->length.load())) == 0)
    entry->key.store(kGivenBack);
}

SessionMemory::Entry& SessionMemory::await_entry(const Request& request, std::uint64_t key) const {
  for (Pause pause(kLongestSleep_us, kYields);; pause.wait()) {
    Entry* entry = find(key);
    const std::uint64_t offset = entry != nullptr ? entry->offset.load() : 0;
    if (offset != 0) return *entry;
    // Without the entry nobody has come yet, and one that has ended never will: others may have given up because of it.
    if (const auto end = end_among(request.members, request.ended); end && find(key) == nullptr)
      throw_for(request, *end, ", before it joined in");
    request.deadline.check();
    if (request.deadline.passed()) throw_absent(request, {request.members.front()});
  }
}

/// A member that has come may have ended since, and a living one may have given up over that.
void SessionMemory::await_members(const Request& request, Prefix& prefix) const {
  const auto missing = [&] {
    std::vector<Rank> ranks;
    for (std::size_t i = 0; i < request.members.size(); ++i) {
      const std::uint64_t asked = prefix.arrival(i).load() & ~kLetGo;
      if (asked == 0)
        ranks.push_back(request.members[i]);
      else if (asked != request.bytes + 1)
        throw MismatchError(set_text(request.members) + ": rank " + std::to_string(self_) + " asks for " +
                            std::to_string(request.bytes) + " bytes, rank " +
                            std::to_string(request.members[i]) + " for " + std::to_string(asked - 1) +
                            "; all must ask for the same");
    }
    return ranks;
  };
  for (Pause pause(kLongestSleep_us, kYields);; pause.wait()) {
    const std::vector<Rank> ranks = missing();
    if (ranks.empty()) return;
    const std::optional<Cause> end = end_among(request.members, request.ended);
    if (end && !missing().empty())  // else all had come before it died
      throw_for(request, *end, ", before all had joined in");
    try {
      request.deadline.check();
    } catch (const LostRankError&) {
      if (missing().empty()) return;  // it had come before it was lost
      throw;
    }
    if (request.deadline.passed()) throw_absent(request, ranks);
  }
}

}  // namespace hemiola
