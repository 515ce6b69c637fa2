// SPDX-License-Identifier: Apache-2.0
#include "hemiola/base/descriptor.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

/// Which descriptors children must not have. Plain bits: a child may be forked while another thread changes them, and has
/// nobody who would unlock a mutex.
class PrivateDescriptors {
 public:
  void add(int fd) {
    if (static_cast<std::size_t>(fd) >= kMost) return;
    word_of(fd).fetch_or(bit_of(fd));
    int used = used_.load();
    while (used <= fd / kBits && !used_.compare_exchange_weak(used, fd / kBits + 1)) {
    }
  }
  void remove(int fd) {
    if (static_cast<std::size_t>(fd) < kMost) word_of(fd).fetch_and(~bit_of(fd));
  }

  /// In a child. Their numbers stay taken: copies of objects that close them must not close something newer.
  void replace_all() {
    for (int word = 0; word < used_.load(); ++word)
      for (std::uint64_t left = words_[static_cast<std::size_t>(word)].load(); left != 0; left &= left - 1) {
        const int fd = word * kBits + std::countr_zero(left);
        if (::dup3(null_device_, fd, O_CLOEXEC) < 0) ::close(fd);
      }
  }

 private:
  static constexpr int kBits = 64;
  static constexpr std::size_t kMost = std::size_t{1} << 20;

  std::atomic<std::uint64_t>& word_of(int fd) { return words_[static_cast<std::size_t>(fd / kBits)]; }
  static std::uint64_t bit_of(int fd) { return std::uint64_t{1} << fd % kBits; }

  std::array<std::atomic<std::uint64_t>, kMost / kBits> words_{};
  std::atomic<int> used_ = 0;
  const int null_device_ = ::open("/dev/null", O_RDWR | O_CLOEXEC);
};

/// Never taken apart: descriptors are closed until the process ends. Null until there is one to keep.
std::atomic<PrivateDescriptors*> kept = nullptr;

PrivateDescriptors& begin_to_keep() {
  static PrivateDescriptors& all = *new PrivateDescriptors;
  static const int registered = [] {
    kept = &all;
    return ::pthread_atfork(nullptr, nullptr, [] { kept.load()->replace_all(); });
  }();
  HEMIOLA_CHECK(registered == 0, "no memory to register a handler for forks");
  return all;
}

}  // namespace

void Descriptor::keep_from_children() const {
  begin_to_keep().add(fd_);
}

void Descriptor::close() const {
  if (PrivateDescriptors* const all = kept.load()) all->remove(fd_);
  ::close(fd_);
}

}  // namespace hemiola
