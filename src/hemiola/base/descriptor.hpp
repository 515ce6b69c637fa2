// SPDX-License-Identifier: Apache-2.0
// A file descriptor that closes itself.
#pragma once

#include <utility>

namespace hemiola {

/// The remedy, for the end of an error, where a descriptor could not be had.
inline constexpr const char* kRaiseFileLimit =
    "; if too many files are open, raise the limit with 'ulimit -n'";

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close();
  }

  /// Children that are forked from now on find the null device in its place. For connections whose end tells the other
  /// side that this process has ended: a child's copy would keep them open. Does nothing for a descriptor above a million.
  void keep_from_children() const;

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  void close() const;

  int fd_ = -1;
};

}  // namespace hemiola
