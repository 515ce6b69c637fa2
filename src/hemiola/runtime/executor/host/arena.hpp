// SPDX-License-Identifier: Apache-2.0
// Memory that an engine keeps from one operation to the next: it only grows, and pages are touched when first used.
#pragma once

#include <cstddef>

namespace hemiola {

class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::size_t size() const { return size_; }
  /// At least `bytes`, page-aligned; the old contents are lost when it grows. Throws std::bad_alloc.
  std::byte* get(std::size_t bytes) {
    if (bytes > size_) [[unlikely]]
      grow(bytes);
    return data_;
  }

 private:
  void grow(std::size_t bytes);
  void release();

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace hemiola
