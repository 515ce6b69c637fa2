// SPDX-License-Identifier: Apache-2.0
// The shared memory of one session: a single anonymous file, far larger than will ever be touched, from which members
// cut regions and agree on them through a small table at its start. Untouched memory costs nothing. Memory that all
// members have released, or have ended with, is given back. All of it vanishes with the last process, however that
// ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "hemiola/base/descriptor.hpp"
#include "hemiola/runtime/session/local/cause_board.hpp"
#include "hemiola/runtime/session/local/census.hpp"
#include "hemiola/runtime/session/local/survivors_board.hpp"
#include "hemiola/runtime/session/session.hpp"

namespace hemiola {

/// Held by every region cut from it.
class SessionMemory : public std::enable_shared_from_this<SessionMemory> {
 public:
  /// Makes the file; rank 0 does it, the others receive its descriptor.
  static Descriptor create();

  SessionMemory(Descriptor memory, Rank self);
  ~SessionMemory();
  SessionMemory(const SessionMemory&) = delete;

  /// Told which processes of the session have ended.
  using Ended = std::function<std::vector<LostRank>()>;
  struct Request {
    const std::vector<Rank>& members;  ///< as Session has it
    std::size_t bytes;
    const Deadline& deadline;
    Ended ended;
    /// Writes this rank's part before the others see the rank; may be empty.
    std::function<void(std::span<std::byte>)> fill;
  };
  /// As Session::shared. After a TimeoutError the same call may be tried again; the filled part stays.
  std::shared_ptr<SharedRegion> share(const Request& request);

  SurvivorsBoard& survivors_board() const;
  CauseBoard& cause_board() const;
  Census& census() const;
  /// For newcomers.
  const Descriptor& file() const { return memory_; }

 private:
  struct Entry;
  struct Header;
  struct Prefix;
  class Mapping;
  class Region;

  std::uint64_t shares_so_far(const std::vector<Rank>& members);
  void count_share(const std::vector<Rank>& members);
  Entry* find(std::uint64_t key) const;
  Entry* take_entry(std::uint64_t key, std::uint64_t bytes);
  void publish(const Request& request, std::uint64_t key);
  Entry& await_entry(const Request& request, std::uint64_t key) const;
  void await_members(const Request& request, Prefix& prefix) const;
  std::string advice_for_more() const;
  static bool is_free(Prefix& prefix, std::size_t member_count, const std::vector<LostRank>& ended);
  void take_back(const std::vector<LostRank>& ended);
  void give_back(Entry* entry, std::uint64_t key) const;

  Descriptor memory_;
  Rank self_;
  std::uint64_t capacity_;  ///< bytes after the header
  std::unique_ptr<Mapping> table_;
  Header* header_;
  std::atomic<std::size_t> ended_before_ = 0;  ///< how many had ended at the latest look for their memory
  std::atomic<bool> has_let_go_ = false;       ///< since then, of a region that others held
  std::mutex mutex_;                           ///< guards the members below
  std::map<std::vector<Rank>, std::uint64_t> shares_so_far_;
};

}  // namespace hemiola
