// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/shm/peer_memory.hpp"

#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/base/plain_copy.hpp"
#include "hemiola/base/ticks.hpp"

namespace hemiola {
namespace {

std::uint64_t random_word() {
  std::uint64_t word = 0;
  // Where the kernel has none yet, the token is the same for all; the process number still tells them apart.
  static_cast<void>(::getrandom(&word, sizeof word, GRND_NONBLOCK));
  return word | 1;
}

/// Returns the number of bytes, or -1 with errno.
ssize_t read_process(std::int64_t process, void* to, std::uint64_t address, std::size_t bytes) {
  iovec local{to, bytes};
  iovec remote{reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), bytes};
  return ::process_vm_readv(static_cast<pid_t>(process), &local, 1, &remote, 1, 0);
}

/// The least time of some copies by the kernel within this process, in ticks.
std::uint64_t least_copying(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t begin = ticks();
    if (read_process(::getpid(), to, reinterpret_cast<std::uintptr_t>(from), bytes) < 0) return 1;
    least = std::min(least, ticks() - begin);
  }
  return least;
}

bool kernel_stumbles() {
  constexpr std::size_t kBytes = 8 << 10, kFurther = 16;
  std::vector<std::byte> from(2 * kBytes), to(2 * kBytes);
  // Where both lie alike, wherever the vectors are.
  std::byte* const alike = to.data() + (reinterpret_cast<std::uintptr_t>(from.data()) -
                                        reinterpret_cast<std::uintptr_t>(to.data())) %
                                           kPageBytes;
  return least_copying(alike + kFurther, from.data(), kBytes) > 2 * least_copying(alike, from.data(), kBytes);
}

}  // namespace

MemoryOwner::MemoryOwner(MemoryCard& card) : token_(std::make_unique<const std::uint64_t>(random_word())) {
  card.token.store(*token_, std::memory_order_relaxed);
  card.where.store(reinterpret_cast<std::uintptr_t>(token_.get()), std::memory_order_relaxed);
  card.process.store(::getpid(), std::memory_order_release);
}

bool PeerMemory::is_readable() const {
  const std::int64_t process = card_->process.load(std::memory_order_acquire);
  std::uint64_t found = 0;
  // In another process namespace the number may name somebody else, who does not have the token.
  return process != 0 && read_process(process, &found, card_->where.load(), sizeof found) == sizeof found &&
         found == card_->token.load();
}

std::optional<std::size_t> PeerMemory::read(std::byte* to, std::uint64_t address, std::size_t bytes) const {
  const ssize_t count = read_process(card_->process.load(std::memory_order_relaxed), to, address, bytes);
  if (count >= 0) return static_cast<std::size_t>(count);
  const int error = errno;
  if (error == ESRCH || (error == EFAULT && !is_readable()))
    return 0;  // the process is gone, or on its way out
  errno = error;
  return std::nullopt;
}

bool PeerMemory::stumbles(const std::byte* to, std::uint64_t address) {
  if (!is_little_further(to, address)) return false;
  static const bool does = kernel_stumbles();
  return does;
}

}  // namespace hemiola
