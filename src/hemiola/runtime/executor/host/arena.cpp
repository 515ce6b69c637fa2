// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/executor/host/arena.hpp"

#include <sys/mman.h>

#include <new>

#include "hemiola/base/rounding.hpp"

namespace hemiola {
namespace {

constexpr std::size_t kHugePage = 2 << 20;

}  // namespace

Arena::~Arena() {
  release();
}

void Arena::release() {
  if (data_ != nullptr) munmap(data_, size_);
  data_ = nullptr;
  size_ = 0;
}

void Arena::grow(std::size_t bytes) {
  release();
  const std::size_t size = rounded_up(bytes, kHugePage);
  void* const data =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  // Fewer faults; where the kernel refuses, small pages do as well. A small request gets no more than its size.
  if (bytes >= kHugePage) madvise(data, size, MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(data);
  size_ = size;
}

}  // namespace hemiola
