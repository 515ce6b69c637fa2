// SPDX-License-Identifier: Apache-2.0
// Another process's memory, read in one copy without its help (process_vm_readv), where the system allows it:
// Linux's Yama and containers' system call filters may not, so it is tried before it is relied on.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace hemiola {

/// In zero-filled shared memory, one per rank: what others need to find its memory, and to make sure that they have.
struct MemoryCard {
  std::atomic<std::int64_t> process;  ///< published last
  std::atomic<std::uint64_t> token;   ///< a random number …
  std::atomic<std::uint64_t> where;   ///< … and the address in the process where it stands
};

/// Keeps a rank's card true for as long as it lives.
class MemoryOwner {
 public:
  explicit MemoryOwner(MemoryCard& card);

 private:
  std::unique_ptr<const std::uint64_t> token_;
};

class PeerMemory {
 public:
  explicit PeerMemory(MemoryCard& card) : card_(&card) {}

  /// Whether what the card says can be read there. Reads a word.
  bool is_readable() const;
  /// Whose memory that is, if it is readable.
  pid_t process() const { return static_cast<pid_t>(card_->process.load(std::memory_order_relaxed)); }

  /// Copies up to `bytes` from the peer's address; returns how many it copied, 0 when the peer's memory is gone
  /// with its process, nothing, with errno, where nothing can be read at that address.
  std::optional<std::size_t> read(std::byte* to, std::uint64_t address, std::size_t bytes) const;

  /// Whether the kernel's copy from there to here would stumble (base/plain_copy.hpp). Finds out once in a process whether it
  /// does so at all on this processor, in some 50 µs.
  static bool stumbles(const std::byte* to, std::uint64_t address);

 private:
  MemoryCard* card_;
};

}  // namespace hemiola
