// SPDX-License-Identifier: Apache-2.0
// Memory for large arrays that are read in no order: on Linux in huge pages, where page faults and address
// translation cost a fraction of their cost in small ones.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#include "hemiola/base/rounding.hpp"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace hemiola {

template <typename T>
struct HugePageAllocator {
  using value_type = T;

  HugePageAllocator() = default;
  template <typename U>
  HugePageAllocator(const HugePageAllocator<U>&) {}  // NOLINT: allocators convert

  T* allocate(std::size_t count) {
    constexpr std::size_t page = std::size_t{1} << 21;
    if (count > (static_cast<std::size_t>(-1) - page) / sizeof(T)) throw std::bad_array_new_length();
    const std::size_t bytes = count * sizeof(T);
    const bool is_large = bytes >= 2 * page;
    void* memory = is_large ? std::aligned_alloc(page, rounded_up(bytes, page)) : std::malloc(bytes);
    if (memory == nullptr) throw std::bad_alloc();
#ifdef __linux__
    if (is_large) madvise(memory, bytes, MADV_HUGEPAGE);  // advice: where it is not taken, small pages serve
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { std::free(memory); }

  friend bool operator==(const HugePageAllocator&, const HugePageAllocator&) { return true; }
};

/// A vector whose memory is in huge pages once it is large.
template <typename T>
using LargeVector = std::vector<T, HugePageAllocator<T>>;

}  // namespace hemiola
