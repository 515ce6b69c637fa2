// The shared memory of one session: a single anonymous file, far larger than will ever be touched, from which
// members cut regions and agree on them through a small table at its start. Untouched memory costs nothing;
// all of it vanishes with the last process, however that ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/rendezvous/descriptor.hpp"

namespace hemiola {

class SessionMemory {
 public:
  /// Makes the file; rank 0 does it, the others receive its descriptor.
  static Descriptor create();

  /// Told which of some ranks has died, if any.
  using DeadAmong = std::function<std::optional<Rank>(const std::vector<Rank>&)>;

  SessionMemory(Descriptor memory, Rank rank, DeadAmong dead_among);
  ~SessionMemory();
  SessionMemory(const SessionMemory&) = delete;

  /// As LocalSession::share. After a TimeoutError the same call may be tried again.
  std::span<std::byte> share(const std::vector<Rank>& members, std::size_t bytes, double timeout_s);

 private:
  struct Region;
  struct Entry;
  struct Header;
  struct Request;

  std::span<std::byte> map(std::uint64_t offset, std::size_t bytes);
  void publish(const Request& request);
  Region await_region(const Request& request);
  void await_members(const Request& request, const Region& region);
  Entry& slot_for(std::uint64_t key);

  Descriptor memory_;
  Rank rank_;
  DeadAmong dead_among_;
  std::mutex mutex_;  ///< guards the two below
  std::map<std::vector<Rank>, std::uint64_t> shares_so_far_;
  std::vector<std::span<std::byte>> mappings_;
  Header* header_ = nullptr;
  std::uint64_t capacity_ = 0;  ///< bytes after the header
};

}  // namespace hemiola
