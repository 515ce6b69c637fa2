#include "hemiola/runtime/rendezvous/session_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/base/rounding.hpp"
#include "hemiola/runtime/rendezvous/deadline.hpp"
#include "hemiola/runtime/rendezvous/meeting.hpp"

namespace hemiola {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kCapacity = std::uint64_t{1} << 42;  // 4 TiB of addresses, not of memory
constexpr std::size_t kEntryCount = 1 << 16;

constexpr std::uint64_t page_rounded(std::uint64_t bytes) {
  return rounded_up(bytes, kPage);
}

/// The file's length may not pass this process's file size limit, or the kernel kills it with SIGXFSZ.
std::uint64_t allowed_capacity() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kCapacity;
  return std::min<std::uint64_t>(kCapacity, limit.rlim_cur / kPage * kPage);
}

/// Identifies the `sequence`-th region of a member set, never 0.
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

}  // namespace

/// One agreed region. `offset` is published last; kRefused says that the leader found no room.
struct SessionMemory::Entry {
  std::atomic<std::uint64_t> key;
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> offset;
};

/// The file starts with this; zero-filled is its initial state.
struct SessionMemory::Header {
  std::atomic<std::uint64_t> used;  ///< bytes after the header that are given out
  std::array<Entry, kEntryCount> entries;
};

/// A region starts with one word per member: the bytes it asked for plus one, once it is there.
struct SessionMemory::Region {
  std::span<std::byte> all;
  std::size_t prefix_bytes;
  std::atomic<std::uint64_t>& arrival(std::size_t member) const {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(all.data())[member];
  }
};

struct SessionMemory::Request {
  const std::vector<Rank>& members;
  std::size_t bytes;
  double timeout_s;
  std::uint64_t key;
  Deadline deadline;
  std::size_t prefix_bytes() const { return page_rounded(members.size() * sizeof(std::uint64_t)); }
};

namespace {
constexpr std::uint64_t kRefused = 1;  // no region starts there
}

Descriptor SessionMemory::create() {
  Descriptor memory(::memfd_create("hemiola", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory)
    throw LostRankError(std::string("cannot make shared memory (memfd_create): ") + std::strerror(errno));
  const std::uint64_t capacity = allowed_capacity();
  // Sealed, so that no process can shorten the file under the others' mappings.
  if (capacity < 2 * sizeof(Header) || ::ftruncate(memory.get(), static_cast<off_t>(capacity)) != 0 ||
      ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    throw LostRankError(std::string("cannot size shared memory: ") + std::strerror(errno) +
                        "; is the file size limit (ulimit -f) too low?");
  return memory;
}

SessionMemory::SessionMemory(Descriptor memory, Rank rank, DeadAmong dead_among)
    : memory_(std::move(memory)), rank_(rank), dead_among_(std::move(dead_among)) {
  header_ = reinterpret_cast<Header*>(map(0, page_rounded(sizeof(Header))).data());
  const off_t length = ::lseek(memory_.get(), 0, SEEK_END);
  capacity_ = static_cast<std::uint64_t>(length) - page_rounded(sizeof(Header));
}

SessionMemory::~SessionMemory() {
  for (std::span<std::byte> mapping : mappings_) ::munmap(mapping.data(), mapping.size());
}

std::span<std::byte> SessionMemory::map(std::uint64_t offset, std::size_t bytes) {
  void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory_.get(),
                       static_cast<off_t>(offset));
  if (start == MAP_FAILED)
    throw LostRankError("cannot map " + std::to_string(bytes) + " bytes of shared memory: " +
                        std::strerror(errno) + "; is the address space limited (ulimit -v)?");
  // A forked child has no part in the session; without the mapping it cannot disturb it either.
  ::madvise(start, bytes, MADV_DONTFORK);
  const std::lock_guard lock(mutex_);
  return mappings_.emplace_back(static_cast<std::byte*>(start), bytes);
}

std::span<std::byte> SessionMemory::share(const std::vector<Rank>& members, std::size_t bytes,
                                          double timeout_s) {
  const auto self = std::find(members.begin(), members.end(), rank_);
  if (self == members.end() ||
      std::adjacent_find(members.begin(), members.end(), std::greater_equal<>()) != members.end())
    throw ArgumentError("members must be sorted ranks with this rank " + std::to_string(rank_) +
                        " among them, got " + rank_list(members));
  std::uint64_t sequence;
  {
    const std::lock_guard lock(mutex_);
    sequence = shares_so_far_[members];
  }
  const Request request{members, bytes, timeout_s, key_of(members, sequence), Deadline(timeout_s)};
  if (self == members.begin()) publish(request);
  const Region region = await_region(request);
  region.arrival(static_cast<std::size_t>(self - members.begin())).store(bytes + 1);
  await_members(request, region);
  const std::lock_guard lock(mutex_);
  ++shares_so_far_[members];
  return region.all.subspan(region.prefix_bytes, bytes);
}

/// The slot that holds `key`, or the free one where it belongs (linear probing; slots are never given back).
SessionMemory::Entry& SessionMemory::slot_for(std::uint64_t key) {
  for (std::size_t probe = 0; probe < kEntryCount; ++probe) {
    Entry& entry = header_->entries[(key + probe) % kEntryCount];
    const std::uint64_t found = entry.key.load();
    if (found == key || found == 0) return entry;
  }
  throw LostRankError("this session has shared memory " + std::to_string(kEntryCount) +
                      " times, its limit; keep communicators instead of making new ones");
}

/// The lowest member cuts the region and makes it known. Does nothing when a call that timed out has done so.
void SessionMemory::publish(const Request& request) {
  for (;;) {
    Entry& entry = slot_for(request.key);
    std::uint64_t nobody = 0;
    if (entry.key.load() == request.key) return;
    if (!entry.key.compare_exchange_strong(nobody, request.key)) continue;  // another set took the slot
    const std::uint64_t needed =
        request.prefix_bytes() + page_rounded(std::min<std::uint64_t>(request.bytes, capacity_));
    const std::uint64_t start = needed <= capacity_ ? header_->used.fetch_add(needed) : capacity_;
    entry.bytes.store(request.bytes);
    entry.offset.store(start + needed <= capacity_ ? page_rounded(sizeof(Header)) + start : kRefused);
    return;
  }
}

SessionMemory::Region SessionMemory::await_region(const Request& request) {
  for (Pause pause;; pause.wait()) {
    Entry& entry = slot_for(request.key);
    const std::uint64_t offset = entry.key.load() == request.key ? entry.offset.load() : 0;
    if (offset == kRefused)
      throw LostRankError(set_text(request.members) + ": " + std::to_string(request.bytes) +
                          " bytes are more than the session has left; make fewer or smaller communicators");
    if (offset != 0)
      return {map(offset, request.prefix_bytes() + entry.bytes.load()), request.prefix_bytes()};
    const Rank leader = request.members.front();
    if (dead_among_({leader}))
      throw LostRankError(set_text(request.members) + ": rank " + std::to_string(leader) +
                          " died before it joined in");
    if (request.deadline.passed())
      throw TimeoutError(set_text(request.members) + ": rank " + std::to_string(leader) +
                         " did not come within " + std::to_string(request.timeout_s) + " s");
  }
}

void SessionMemory::await_members(const Request& request, const Region& region) {
  const auto missing = [&] {
    std::vector<Rank> ranks;
    for (std::size_t i = 0; i < request.members.size(); ++i) {
      const std::uint64_t asked = region.arrival(i).load();
      if (asked == 0)
        ranks.push_back(request.members[i]);
      else if (asked != request.bytes + 1)
        throw MismatchError(set_text(request.members) + ": rank " + std::to_string(rank_) + " asks for " +
                            std::to_string(request.bytes) + " bytes, rank " +
                            std::to_string(request.members[i]) + " for " + std::to_string(asked - 1) +
                            "; all must ask for the same");
    }
    return ranks;
  };
  for (Pause pause;; pause.wait()) {
    const std::vector<Rank> ranks = missing();
    if (ranks.empty()) return;
    const std::optional<Rank> dead = dead_among_(ranks);
    const std::vector<Rank> still = dead ? missing() : ranks;  // it may have come in just before it died
    if (dead && std::find(still.begin(), still.end(), *dead) != still.end())
      throw LostRankError(set_text(request.members) + ": rank " + std::to_string(*dead) +
                          " died before it joined in");
    if (request.deadline.passed())
      throw TimeoutError(set_text(request.members) + ": rank" + (ranks.size() == 1 ? " " : "s ") +
                         rank_list(ranks) + " did not come within " + std::to_string(request.timeout_s) +
                         " s");
  }
}

}  // namespace hemiola
